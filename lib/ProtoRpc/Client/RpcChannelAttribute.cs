namespace ProtoRpc.Client;

/// <summary>Registers a channel in <see cref="RpcChannels"/>, at the beginning of the channel's file. So a
/// new channel needs no change in other files.</summary>
[AttributeUsage(AttributeTargets.Assembly, AllowMultiple = true)]
internal abstract class RpcChannelAttribute : Attribute
{
    public abstract bool Reaches(EndpointKindAttribute kind);

    public abstract IRpcChannel Create(
        RpcEndpoint endpoint, RpcServiceInfo? service, RpcClientOptions options);
}

/// <inheritdoc/>
/// <typeparam name="TChannel">The channel.</typeparam>
[AttributeUsage(AttributeTargets.Assembly, AllowMultiple = true)]
internal sealed class RpcChannelAttribute<TChannel> : RpcChannelAttribute
    where TChannel : IRpcChannelMaker
{
    public override bool Reaches(EndpointKindAttribute kind) => TChannel.Reaches(kind);

    public override IRpcChannel Create(
        RpcEndpoint endpoint, RpcServiceInfo? service, RpcClientOptions options) =>
        TChannel.Create(endpoint, service, options);
}

/// <summary>Creates channels to some kinds of endpoints.</summary>
internal interface IRpcChannelMaker
{
    /// <summary>Whether the channels support a kind of endpoint.</summary>
    static abstract bool Reaches(EndpointKindAttribute kind);

    /// <summary>Creates a channel, which connects with its first call.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="service">The service of the first call, or null.</param>
    /// <param name="options">The client's options.</param>
    static abstract IRpcChannel Create(
        RpcEndpoint endpoint, RpcServiceInfo? service, RpcClientOptions options);
}

namespace ProtoRpc.Client;

/// <summary>Stands at the head of a channel's file, and brings it to <see cref="RpcChannels"/>: so a new way
/// to reach endpoints is a file of its own, and no other one knows it.</summary>
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

/// <summary>Makes channels to endpoints of some kinds.</summary>
internal interface IRpcChannelMaker
{
    /// <summary>Whether its channels reach endpoints of a kind.</summary>
    static abstract bool Reaches(EndpointKindAttribute kind);

    /// <summary>Makes a channel, which connects with its first call.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="service">The service that is called first, or null.</param>
    /// <param name="options">How the client behaves.</param>
    static abstract IRpcChannel Create(
        RpcEndpoint endpoint, RpcServiceInfo? service, RpcClientOptions options);
}

namespace ProtoRpc.Transports;

/// <summary>Stands at the head of a transport's file, and brings it to <see cref="NativeTransports"/>: so a
/// new transport is a file of its own, and no other one knows it.</summary>
/// <param name="transport">The kind of endpoint that it carries.</param>
[AttributeUsage(AttributeTargets.Assembly, AllowMultiple = true)]
internal abstract class NativeTransportAttribute(RpcTransport transport) : Attribute
{
    public RpcTransport Transport => transport;

    public abstract INativeTransport Create();
}

/// <inheritdoc/>
/// <typeparam name="TTransport">The transport.</typeparam>
[AttributeUsage(AttributeTargets.Assembly, AllowMultiple = true)]
internal sealed class NativeTransportAttribute<TTransport>(RpcTransport transport)
    : NativeTransportAttribute(transport)
    where TTransport : INativeTransport, new()
{
    public override INativeTransport Create() => new TTransport();
}

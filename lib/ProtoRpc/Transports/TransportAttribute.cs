namespace ProtoRpc.Transports;

/// <summary>What carries a kind of endpoint.</summary>
internal interface ITransport
{
    /// <summary>Whether this operating system has it.</summary>
    bool IsOfThisSystem => true;
}

/// <summary>Stands at the head of a transport's file, and brings it to <see cref="NativeTransports"/> or
/// <see cref="MessageTransports"/>: so a new transport is a file of its own, and no other one knows
/// it.</summary>
/// <param name="transport">The kind of endpoint that it carries.</param>
[AttributeUsage(AttributeTargets.Assembly, AllowMultiple = true)]
internal abstract class TransportAttribute(RpcTransport transport) : Attribute
{
    public RpcTransport Transport => transport;

    public abstract ITransport Create();
}

/// <inheritdoc/>
/// <typeparam name="TTransport">The transport.</typeparam>
[AttributeUsage(AttributeTargets.Assembly, AllowMultiple = true)]
internal sealed class TransportAttribute<TTransport>(RpcTransport transport) : TransportAttribute(transport)
    where TTransport : ITransport, new()
{
    public override ITransport Create() => new TTransport();
}

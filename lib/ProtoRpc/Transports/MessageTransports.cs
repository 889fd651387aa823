using System.Reflection;

namespace ProtoRpc.Transports;

/// <summary>The transports of whole messages by the kind of endpoint.</summary>
internal static class MessageTransports
{
    private static readonly Dictionary<RpcTransport, IMessageTransport> Registered =
        typeof(MessageTransports).Assembly.GetCustomAttributes<MessageTransportAttribute>()
            .ToDictionary(attribute => attribute.Transport, attribute => attribute.Create());

    /// <summary>The transport of an endpoint.</summary>
    /// <exception cref="RpcException">Unimplemented where this operating system does not have
    /// it.</exception>
    public static IMessageTransport Of(RpcEndpoint endpoint)
    {
        IMessageTransport transport = Registered[endpoint.Transport];
        return transport.IsOfThisSystem ? transport : throw EndpointErrors.NeedsWindows(endpoint);
    }

    /// <summary>The transport of an endpoint; null where the endpoint has byte streams.</summary>
    /// <exception cref="RpcException">Unimplemented where this operating system does not have
    /// it.</exception>
    public static IMessageTransport? Find(RpcEndpoint endpoint) =>
        endpoint.Has(EndpointFeatures.WholeMessages) ? Of(endpoint) : null;
}

/// <summary>Stands at the head of a transport's file, and brings it to
/// <see cref="MessageTransports"/>.</summary>
/// <param name="transport">The kind of endpoint that it carries.</param>
[AttributeUsage(AttributeTargets.Assembly, AllowMultiple = true)]
internal abstract class MessageTransportAttribute(RpcTransport transport) : Attribute
{
    public RpcTransport Transport => transport;

    public abstract IMessageTransport Create();
}

/// <inheritdoc/>
/// <typeparam name="TTransport">The transport.</typeparam>
[AttributeUsage(AttributeTargets.Assembly, AllowMultiple = true)]
internal sealed class MessageTransportAttribute<TTransport>(RpcTransport transport)
    : MessageTransportAttribute(transport)
    where TTransport : IMessageTransport, new()
{
    public override IMessageTransport Create() => new TTransport();
}

using System.Reflection;

namespace ProtoRpc.Transports;

/// <summary>The transports of whole messages by the kind of endpoint.</summary>
internal static class MessageTransports
{
    private static readonly Dictionary<RpcTransport, IMessageTransport> Registered =
        typeof(MessageTransports).Assembly.GetCustomAttributes<TransportAttribute>()
            .Select(attribute => (attribute.Transport, Carrier: attribute.Create() as IMessageTransport))
            .Where(registered => registered.Carrier is not null)
            .ToDictionary(registered => registered.Transport, registered => registered.Carrier!);

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

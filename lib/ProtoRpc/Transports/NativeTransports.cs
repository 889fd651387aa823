using System.Reflection;

namespace ProtoRpc.Transports;

/// <summary>The transports of the native protocol by the kind of endpoint.</summary>
internal static class NativeTransports
{
    private static readonly Dictionary<RpcTransport, INativeTransport> Registered = typeof(NativeTransports)
        .Assembly.GetCustomAttributes<TransportAttribute>()
        .Select(attribute => (attribute.Transport, Carrier: attribute.Create() as INativeTransport))
        .Where(registered => registered.Carrier is { IsOfThisSystem: true })
        .ToDictionary(registered => registered.Transport, registered => registered.Carrier!);

    /// <summary>The transport of an endpoint.</summary>
    /// <exception cref="RpcException">InvalidArgument when it is not a native endpoint.</exception>
    public static INativeTransport Of(RpcEndpoint endpoint) =>
        Registered.TryGetValue(endpoint.Transport, out INativeTransport? transport)
            ? transport
            : throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"'{endpoint}' is not an endpoint of the native protocol. Use ncacn_ip_tcp, ncacn_np "
                + "or ncalrpc.")
            {
                ErrorId = RpcErrorIds.NotNativeEndpoint,
                Endpoint = endpoint,
            };
}

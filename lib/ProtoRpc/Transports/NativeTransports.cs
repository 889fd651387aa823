using System.Reflection;

namespace ProtoRpc.Transports;

/// <summary>The transports of the native protocol by the kind of endpoint.</summary>
internal static class NativeTransports
{
    private static readonly Dictionary<RpcTransport, INativeTransport> Registered = typeof(NativeTransports)
        .Assembly.GetCustomAttributes<NativeTransportAttribute>()
        .Select(attribute => (attribute.Transport, Carrier: attribute.Create()))
        .Where(registered => registered.Carrier.IsOfThisSystem)
        .ToDictionary(registered => registered.Transport, registered => registered.Carrier);

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

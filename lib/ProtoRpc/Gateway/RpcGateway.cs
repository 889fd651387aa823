using ProtoRpc.Gateway;

namespace ProtoRpc;

/// <summary>Passes calls of a server on to another one: each side has its own endpoints, transports and
/// credentials.</summary>
/// <remarks>Messages are not decoded where the caller sends binary protobuf and the client does; callers of
/// JSON, XML and forms get theirs converted. The limits of both sides hold. The client's own credentials are
/// used, and its retries; the gateway does not dispose of it.</remarks>
/// <example><code>
/// using RpcClient old = RpcClient.Connect("ncacn_ip_tcp:old[1234]", schema);
/// using RpcServer gateway = RpcGateway.Create(old, serverOptions: new RpcServerOptions().WithHttp())
///     .AddEndpoint("http://127.0.0.1:8080")
///     .AddEndpoint("grpc://127.0.0.1:50051")
///     .StartListening();
/// </code></example>
public static class RpcGateway
{
    /// <summary>A server that passes on all calls of services that the client's schema declares. Those of
    /// gRPC itself, such as reflection, it serves itself unless they are named.</summary>
    /// <param name="client">Who calls the other server.</param>
    /// <param name="options">What passes; null for the defaults.</param>
    /// <param name="serverOptions">How the server behaves; null for the defaults.</param>
    /// <param name="services">Names of services, bare or full; none for all.</param>
    /// <exception cref="RpcException">FailedPrecondition: the client has no schema, or one without
    /// services.</exception>
    public static RpcServer Create(
        RpcClient client, RpcGatewayOptions? options = null, RpcServerOptions? serverOptions = null,
        params IReadOnlyList<string> services) =>
        new RpcServer((serverOptions ?? new RpcServerOptions()).Copy()).Forward(client, options, services);

    /// <summary>Passes on the calls of all methods of services that have no handler of their own.</summary>
    /// <param name="server">The server, before it listens.
    /// Services that it does not have yet are added.</param>
    /// <param name="client">Who calls the other server.</param>
    /// <param name="services">Names of services, bare or full; none for all of the client's schema, but for
    /// those of gRPC itself.</param>
    /// <exception cref="RpcException">NotFound: no such service; FailedPrecondition: the client has no
    /// schema.</exception>
    public static RpcServer Forward(
        this RpcServer server, RpcClient client, params IReadOnlyList<string> services) =>
        server.Forward(client, options: null, services);

    /// <inheritdoc cref="Forward(RpcServer, RpcClient, IReadOnlyList{string})"/>
    /// <param name="server">The server, before it listens.
    /// Services that it does not have yet are added.</param>
    /// <param name="client">Who calls the other server.</param>
    /// <param name="options">What passes; null for the defaults.</param>
    /// <param name="services">Names of services, bare or full; none for all of the client's schema, but for
    /// those of gRPC itself.</param>
    public static RpcServer Forward(
        this RpcServer server, RpcClient client, RpcGatewayOptions? options,
        params IReadOnlyList<string> services)
    {
        ArgumentNullException.ThrowIfNull(server);
        ArgumentNullException.ThrowIfNull(client);
        ArgumentNullException.ThrowIfNull(services);
        RpcMethodHandler handler = HandlerOfAll(client, options);
        foreach (RpcServiceInfo wanted in ServicesOf(client, services))
        {
            RpcServiceInfo? service = server.FindService(wanted.FullName);
            if (service is null)
            {
                server.AddService(wanted);
                service = wanted;
            }

            server.HandleRest(service, handler);
        }

        return server;
    }

    /// <summary>A handler that passes the calls of a method on.</summary>
    /// <param name="client">Who calls the other server. Where it has a schema, that must have the method,
    /// with messages of the same names.</param>
    /// <param name="options">What passes; null for the defaults.</param>
    /// <remarks>A server refuses the handler for a method that streams where the client's endpoint carries no
    /// streams.</remarks>
    public static RpcMethodHandler Handler(RpcClient client, RpcGatewayOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(client);
        return new ForwardingHandler(client, options, isForAll: false);
    }

    /// <summary>A handler for any method. A method that the client cannot call is rejected when
    /// it is called.</summary>
    internal static RpcMethodHandler HandlerOfAll(RpcClient client, RpcGatewayOptions? options) =>
        new ForwardingHandler(client, options, isForAll: true);

    /// <summary>The services that a gateway to a client serves where none is named.</summary>
    internal static IReadOnlyList<RpcServiceInfo> ServicesOf(
        RpcClient client, params IReadOnlyList<string> names)
    {
        RpcSchema schema = client.Schema ?? throw new RpcException(
            RpcStatusCode.FailedPrecondition,
            $"The connection to '{client.Endpoint}' has no schema, so its services are unknown. "
            + "Connect with a schema.")
        {
            ErrorId = RpcErrorIds.NoSchema,
            Endpoint = client.Endpoint,
        };
        RpcServiceInfo[] services = names.Count > 0
            ? [.. names.Select(schema.GetService)]
            : [.. schema.Services.Where(service => !IsOfProtocol(service))];
        return services.Length > 0 ? services : throw new RpcException(
            RpcStatusCode.FailedPrecondition,
            $"The schema of the connection to '{client.Endpoint}' declares no service to forward.")
        {
            Endpoint = client.Endpoint,
        };
    }

    // Each server serves its own reflection and health.
    private static bool IsOfProtocol(RpcServiceInfo service) =>
        service.FullName.StartsWith("grpc.reflection.", StringComparison.Ordinal)
        || service.FullName.StartsWith("grpc.health.", StringComparison.Ordinal)
        || service.FullName.StartsWith("google.protobuf.rpc_messages.", StringComparison.Ordinal);
}

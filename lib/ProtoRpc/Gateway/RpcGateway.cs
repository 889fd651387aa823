using ProtoRpc.Gateway;

namespace ProtoRpc;

/// <summary>Forwards the calls of a server to another server. Each side has its own endpoints, transports and
/// credentials.</summary>
/// <remarks>Messages are not decoded if both the caller and the client use binary protobuf. For callers with
/// JSON, XML or forms, messages are converted. The limits of both sides apply. The gateway uses the client's
/// credentials and retries, and does not dispose the client.</remarks>
/// <example><code>
/// using RpcClient old = RpcClient.Connect("ncacn_ip_tcp:old[1234]", schema);
/// using RpcServer gateway = RpcGateway.Create(old, serverOptions: new RpcServerOptions().WithHttp())
///     .AddEndpoint("http://127.0.0.1:8080")
///     .AddEndpoint("grpc://127.0.0.1:50051")
///     .StartListening();
/// </code></example>
public static class RpcGateway
{
    /// <summary>Creates a server that forwards all calls of the services in the client's schema. Services of
    /// gRPC itself, such as reflection, are not forwarded unless they are named.</summary>
    /// <param name="client">The client of the other server.</param>
    /// <param name="options">What to forward besides messages; null for the defaults.</param>
    /// <param name="serverOptions">The options of the server; null for the defaults.</param>
    /// <param name="services">The bare or full names of services; none for all.</param>
    /// <exception cref="RpcException">FailedPrecondition: the client has no schema, or the schema has no
    /// services.</exception>
    public static RpcServer Create(
        RpcClient client, RpcGatewayOptions? options = null, RpcServerOptions? serverOptions = null,
        params IReadOnlyList<string> services) =>
        new RpcServer((serverOptions ?? new RpcServerOptions()).Copy()).Forward(client, options, services);

    /// <summary>Forwards the calls of all methods of services that have no handler.</summary>
    /// <param name="server">The server, before it listens. Services that it does not have are added.</param>
    /// <param name="client">The client of the other server.</param>
    /// <param name="services">The bare or full names of services; none for all services of the client's
    /// schema, except those of gRPC itself.</param>
    /// <exception cref="RpcException">NotFound: a service does not exist. FailedPrecondition: the client has
    /// no schema.</exception>
    public static RpcServer Forward(
        this RpcServer server, RpcClient client, params IReadOnlyList<string> services) =>
        server.Forward(client, options: null, services);

    /// <inheritdoc cref="Forward(RpcServer, RpcClient, IReadOnlyList{string})"/>
    /// <param name="server">The server, before it listens. Services that it does not have are added.</param>
    /// <param name="client">The client of the other server.</param>
    /// <param name="options">What to forward besides messages; null for the defaults.</param>
    /// <param name="services">The bare or full names of services; none for all services of the client's
    /// schema, except those of gRPC itself.</param>
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

    /// <summary>Creates a handler that forwards the calls of a method.</summary>
    /// <param name="client">The client of the other server. If it has a schema, the schema must contain the
    /// method, with messages of the same names.</param>
    /// <param name="options">What to forward besides messages; null for the defaults.</param>
    /// <remarks>A server rejects the handler for a streaming method if the client's endpoint does not support
    /// streams.</remarks>
    public static RpcMethodHandler Handler(RpcClient client, RpcGatewayOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(client);
        return new ForwardingHandler(client, options, isForAll: false);
    }

    /// <summary>Creates a handler for any method. If the client cannot call a method, the call is
    /// rejected.</summary>
    internal static RpcMethodHandler HandlerOfAll(RpcClient client, RpcGatewayOptions? options) =>
        new ForwardingHandler(client, options, isForAll: true);

    /// <summary>The services that a gateway forwards if none is named.</summary>
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

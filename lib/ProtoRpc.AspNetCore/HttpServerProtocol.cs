using ProtoRpc.AspNetCore;
using ProtoRpc.AspNetCore.Grpc;
using ProtoRpc.AspNetCore.Http;
using ProtoRpc.Security;
using ProtoRpc.Server;
using ProtoRpc.Transports.Http;

namespace ProtoRpc;

/// <summary>Serves methods over HTTP, in the formats that client and server agree on, and over
/// gRPC.</summary>
internal sealed class HttpServerProtocol(HttpServerOptions options, HttpPorts ports) : IServerProtocol
{
    public bool ChecksCallers => options.Security.IsRequired;

    public bool Serves(EndpointKindAttribute kind) => kind.Protocol == EndpointProtocol.Http;

    public bool IsOpenByDefault(RpcEndpoint endpoint, RpcServerSecurity security) =>
        options.Security is { IsOpen: true, AllowAnonymous: false }
        && !endpoint.Has(EndpointFeatures.KnowsCaller) && !security.IsAuthenticationSet;

    public IServedEndpoint Bind(RpcEndpoint endpoint, ServerHost host)
    {
        RequireNoQuery(endpoint);
        ServerTls.Check(endpoint, host.Options, options);

        // Negotiate authenticates a connection. Over HTTP/2, many callers share one.
        SecurityPolicy policy = new(host.Options.Security, isDce: false);
        bool hasHttp2 = !policy.OffersMechanisms;
        bool hasGrpc = hasHttp2 && !GrpcServerProtocol.LacksProof(endpoint, host.Options.Security, options);
        HealthService? health = hasGrpc ? GrpcServerProtocol.HealthOf(host, options) : null;
        GrpcRoutes? routes = hasGrpc
            ? GrpcServerProtocol.Routes(host, options, health, BasePath.Get(endpoint))
            : null;
        return new GrpcEndpoint(
            ports.Serve(endpoint, host, options, new PortService(
                bound => new HttpService(host, options, policy, bound).HandleAsync,
                routes is null ? null : bound => GrpcServerProtocol.ServiceOf(host, options, routes, bound),
                hasHttp2)),
            health);
    }

    private static void RequireNoQuery(RpcEndpoint endpoint)
    {
        if (HttpTransport.QueryOf(endpoint) is { Length: > 0 } query)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidEndpoint,
                $"Cannot listen on '{endpoint}': only clients have a query in the address of a server. "
                + $"Remove '{query}'.");
        }
    }
}

/// <summary>Brings HTTP and gRPC endpoints to a server.</summary>
/// <example><code>
/// await using RpcServer server = RpcServer.Create(
///         schema, "shop.Orders", new RpcServerOptions().WithHttp())
///     .AddEndpoint("grpc://127.0.0.1:50051")
///     .StartListening();
/// </code></example>
public static class HttpHosting
{
    /// <summary>The options with <c>http://</c>, <c>https://</c>, <c>grpc://</c>,
    /// <c>grpcs://</c> and <c>grpc+unix://</c> endpoints.</summary>
    /// <param name="options">The options of the server.</param>
    /// <param name="http">How the endpoints behave; null for the defaults.</param>
    public static RpcServerOptions WithHttp(this RpcServerOptions options, HttpServerOptions? http = null)
    {
        ArgumentNullException.ThrowIfNull(options);
        http ??= new HttpServerOptions();
        HttpPorts ports = new();
        return options with
        {
            Protocols =
                [.. options.Protocols, new HttpServerProtocol(http, ports),
                    new GrpcServerProtocol(http, ports)],
        };
    }
}

using Microsoft.AspNetCore.Server.Kestrel.Core;
using ProtoRpc.AspNetCore;
using ProtoRpc.AspNetCore.Grpc;
using ProtoRpc.AspNetCore.Http;
using ProtoRpc.Security;
using ProtoRpc.Server;
using ProtoRpc.Transports.Http;

namespace ProtoRpc;

/// <summary>Serves methods over HTTP, in the formats that client and server agree on.</summary>
internal sealed class HttpServerProtocol(HttpServerOptions options, TlsPorts ports) : IServerProtocol
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

        // HTTP/2 without TLS is for gRPC alone: who speaks HTTP to http:// begins with HTTP/1.1.
        // Negotiate proves who a connection is, which HTTP/2 lets many share.
        SecurityPolicy policy = new(host.Options.Security, isDce: false);
        HttpProtocols protocols = endpoint.IsTls && !policy.OffersMechanisms
            ? HttpProtocols.Http1AndHttp2
            : HttpProtocols.Http1;
        Func<RpcEndpoint, RequestDelegate> service = bound =>
            new HttpService(host, options, policy, bound).HandleAsync;
        return endpoint.IsTls
            ? ports.Serve(endpoint, host, options, protocols, service)
            : KestrelEndpoint.Start(endpoint, host, protocols, tls: null, service);
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
        TlsPorts ports = new();
        return options with
        {
            Protocols =
                [.. options.Protocols, new HttpServerProtocol(http, ports),
                    new GrpcServerProtocol(http, ports)],
        };
    }
}

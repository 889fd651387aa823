using System.Collections.Frozen;
using System.Net.Security;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;
using ProtoRpc.AspNetCore.Http;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Server;
using ProtoRpc.Server.Calls;

namespace ProtoRpc.AspNetCore.Grpc;

/// <summary>Serves methods over gRPC: HTTP/2 without TLS, with it, and on Unix sockets.</summary>
internal sealed class GrpcServerProtocol(HttpServerOptions options, HttpPorts ports) : IServerProtocol
{
    private const string HealthName = "grpc.health.v1.Health";
    private const string ReflectionName = "grpc.reflection.v1.ServerReflection";

    public bool ChecksCallers => options.Security.IsRequired;

    public bool Serves(EndpointKindAttribute kind) => kind.Protocol == EndpointProtocol.Grpc;

    public bool IsOpenByDefault(RpcEndpoint endpoint, RpcServerSecurity security) =>
        options.Security is { IsOpen: true, AllowAnonymous: false }
        && !endpoint.Has(EndpointFeatures.KnowsCaller) && !security.IsAuthenticationSet;

    public IServedEndpoint Bind(RpcEndpoint endpoint, ServerHost host)
    {
        RequirePlace(endpoint);
        ServerTls.Check(endpoint, host.Options, options);
        RequireProof(endpoint, host.Options.Security);
        HealthService? health = HealthOf(host, options);
        GrpcRoutes routes = Routes(host, options, health, BasePath.Get(endpoint));
        return new GrpcEndpoint(
            ports.Serve(
                endpoint, host, options, new PortService(bound => ServiceOf(host, options, routes, bound))),
            health);
    }

    /// <summary>The handler of the gRPC requests of a bound endpoint.</summary>
    public static RequestDelegate ServiceOf(
        ServerHost host, HttpServerOptions options, GrpcRoutes routes, RpcEndpoint bound) => new GrpcService(
        host, new HostPolicy(options, bound), routes,
        HttpAuthentication.OfGrpc(options.Security, host.Options.Security, bound), bound).HandleAsync;

    /// <summary>Whether callers must authenticate, and gRPC has no way to do it on an endpoint.</summary>
    /// <remarks>NTLM and Kerberos authenticate a connection, which many callers can share in HTTP/2. The
    /// system identifies callers on Unix sockets, but not on Windows.</remarks>
    public static bool LacksProof(
        RpcEndpoint endpoint, RpcServerSecurity security, HttpServerOptions options) =>
        !security.Authentication.HasFlag(RpcAuthentication.None) && options.Security.IsOpen
        && !(endpoint.IsLocalOnly && UnixPeer.IsIdentified);

    /// <summary>The health service of a server; null if it is disabled, or the server has its own.</summary>
    public static HealthService? HealthOf(ServerHost host, HttpServerOptions options) =>
        options.EnableHealth && !IsServed(host, HealthName)
            ? new HealthService(host.Services, options.Health)
            : null;

    private static bool IsServed(ServerHost host, string service) =>
        host.Services.Any(s => s.Info.FullName == service);

    /// <summary>The methods of a server, with those of gRPC unless its schema has such services.</summary>
    /// <param name="host">The server.</param>
    /// <param name="options">Whether reflection is on.</param>
    /// <param name="health">Its health service; null for none.</param>
    /// <param name="basePath">The first part of all paths.</param>
    public static GrpcRoutes Routes(
        ServerHost host, HttpServerOptions options, HealthService? health, string basePath = "")
    {
        List<ServerService> services = [.. host.Services];
        if (health is not null)
        {
            host.Intercept(health.Service);
            services.Add(health.Service);
        }

        List<(string Path, ServerMethod Method)> further = [];
        if (!IsServed(host, PingProtocol.Info.Service.FullName))
        {
            further.Add(($"/{PingProtocol.Info.FullName}", ServerPing.MethodOf(host)));
        }

        if (options.EnableReflection && !IsServed(host, ReflectionName))
        {
            ServerService reflection = new ReflectionService(services).Service;
            host.Intercept(reflection);
            services.Add(reflection);
            further.Add((ReflectionService.AlphaPath, reflection.Get(reflection.Info.Methods[0].Name)));
        }

        return new GrpcRoutes(basePath, services, [.. further])
        {
            // Authorization rules may hide reflection, but this error is sent before they run.
            NamesServices = () => options.EnableReflection
                && !host.Interceptors.OfType<RpcAuthorization>().Any(),
        };
    }

    private static void RequirePlace(RpcEndpoint endpoint)
    {
        string? problem = endpoint.Servers.Count > 1
            ? "only clients have several hosts in an address. Give each host as an endpoint of its own."
            : endpoint.IsAbstractSocket
                ? "every account of the machine can use a socket without a file. Use grpc+unix:///PATH, "
                    + "which is open to its owner."
            : null;
        if (problem is not null)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidEndpoint,
                $"Cannot listen on '{endpoint}': {problem}", endpoint);
        }
    }

    private void RequireProof(RpcEndpoint endpoint, RpcServerSecurity security)
    {
        if (LacksProof(endpoint, security, options))
        {
            throw new RpcException(
                RpcStatusCode.FailedPrecondition, RpcErrorIds.NoProofOnGrpc,
                $"Cannot listen on '{endpoint}': the listener requires authentication, "
                + "and gRPC supports neither NTLM nor Kerberos. "
                + "Check passwords, tokens or certificates instead, or allow anonymous callers.", endpoint);
        }
    }
}

/// <summary>A bound endpoint with gRPC. Reports NOT_SERVING to watching clients before it stops.</summary>
internal sealed class GrpcEndpoint(IServedEndpoint kestrel, HealthService? health) : IServedEndpoint
{
    public RpcEndpoint Endpoint => kestrel.Endpoint;

    public int Connections => kestrel.Connections;

    public long Accepted => kestrel.Accepted;

    public Task StopAsync(TimeSpan drain)
    {
        health?.Stop();
        return kestrel.StopAsync(drain);
    }

    public void Show(SslStreamCertificateContext certificate) => kestrel.Show(certificate);
}

/// <summary>The methods by their paths.</summary>
internal sealed class GrpcRoutes
{
    // Services are replaced while the server listens, so their methods are looked up for each call.
    private readonly FrozenDictionary<string, (ServerService Service, string Method)> _methods;
    private readonly FrozenDictionary<string, ServerMethod> _further;
    private readonly FrozenDictionary<string, ServerService> _services;

    private readonly string _base;

    /// <param name="basePath">The first part of all paths.</param>
    /// <param name="services">The services.</param>
    /// <param name="further">Methods that have another path as well.</param>
    public GrpcRoutes(
        string basePath, IEnumerable<ServerService> services,
        params (string Path, ServerMethod Method)[] further)
    {
        _base = basePath.TrimEnd('/');
        _services = services.ToFrozenDictionary(s => s.Info.FullName, StringComparer.Ordinal);
        _methods = _services.Values
            .SelectMany(s => s.Info.Methods.Select(m => (Path: $"/{m.FullName}", Found: (s, m.Name))))
            .ToFrozenDictionary(m => m.Path, m => m.Found, StringComparer.Ordinal);
        _further = further.ToFrozenDictionary(m => m.Path, m => m.Method, StringComparer.Ordinal);
    }

    /// <summary>Returns whether an error for a wrong path names the services, as reflection does.</summary>
    public Func<bool> NamesServices { get; init; } = () => false;

    public IEnumerable<string> Services =>
        _methods.Keys.Concat(_further.Keys).Select(path => path[1..path.LastIndexOf('/')])
            .Concat(_services.Keys).Distinct();

    /// <summary>The method of a path.</summary>
    /// <exception cref="RpcException">Unimplemented: the method does not exist.</exception>
    public ServerMethod Find(string path)
    {
        if (_base.Length > 0)
        {
            path = path.StartsWith($"{_base}/", StringComparison.Ordinal)
                ? path[_base.Length..]
                : throw NotFound(path);
        }

        if (_methods.TryGetValue(path, out (ServerService Service, string Method) found))
        {
            return found.Service.Get(found.Method);
        }

        if (_further.TryGetValue(path, out ServerMethod? method))
        {
            return method;
        }

        int slash = path.LastIndexOf('/');
        return slash > 0 && _services.TryGetValue(path[1..slash], out ServerService? service)
            ? service.Get(path[(slash + 1)..])
            : throw NotFound(path);
    }

    private RpcException NotFound(string path) => new(
        RpcStatusCode.Unimplemented,
        $"There is no service at '{path}'."
        + (NamesServices()
            ? $" The services are: {string.Join(", ", _services.Keys.Order(StringComparer.Ordinal))}."
            : ""));
}

/// <summary>Answers the requests of one gRPC endpoint.</summary>
internal sealed class GrpcService(
    ServerHost host, HostPolicy hosts, GrpcRoutes routes, HttpAuthentication authentication,
    RpcEndpoint endpoint)
{
    /// <summary>Whether a request is one of gRPC.</summary>
    public static bool IsGrpc(HttpRequest request)
    {
        ReadOnlySpan<char> type = request.ContentType;
        int end = type.IndexOf(';');
        type = (end < 0 ? type : type[..end]).TrimEnd();
        return type.Equals(GrpcHeaders.ContentType, StringComparison.OrdinalIgnoreCase)
            || type.Equals($"{GrpcHeaders.ContentType}+proto", StringComparison.OrdinalIgnoreCase);
    }

    /// <summary>Answers a request to an endpoint that the server opened.</summary>
    public Task HandleAsync(HttpContext http) =>
        HandleAsync(
            http, http.Request.Path.Value ?? "", ConnectionPeer.IdentityOf(http), http.RequestAborted);

    /// <summary>Answers a request.</summary>
    /// <param name="http">The request.</param>
    /// <param name="path">The called method.</param>
    /// <param name="peer">The sender, as identified by the connection or the application.</param>
    /// <param name="aborted">Cancelled when the caller disconnects, or the server stops.</param>
    public async Task HandleAsync(
        HttpContext http, string path, PeerIdentity peer, CancellationToken aborted)
    {
        HttpTrace.Begin(host.Options.Trace, endpoint, http);
        HttpResponse reply = http.Response;
        bool isAllowed = hosts.Allows(http.Request);
        bool isGrpc = IsGrpc(http.Request);
        bool isHttp2 = HttpProtocol.IsHttp2(http.Request.Protocol);

        // gRPC sends its status in trailers, which HTTP/1.1 does not support in this way.
        int? rejection = !isAllowed && !(isGrpc && isHttp2) ? StatusCodes.Status403Forbidden
            : !HttpMethods.IsPost(http.Request.Method) ? StatusCodes.Status405MethodNotAllowed
            : !isGrpc ? StatusCodes.Status415UnsupportedMediaType
            : !isHttp2 ? StatusCodes.Status426UpgradeRequired
            : null;
        if (rejection is { } status)
        {
            Reject(http, path, peer, status);
            return;
        }

        reply.ContentType = GrpcHeaders.ContentType;
        GrpcResponse response = new(http);
        ServerMethod? method = null;
        try
        {
            if (!isAllowed)
            {
                throw hosts.Refusal(http.Request);
            }

            peer = await authentication.CheckAsync(http, peer).ConfigureAwait(false);
            method = routes.Find(path);
        }
        catch (HttpRefusal refusal)
        {
            Record(http, path, peer, refusal.Code);
            // gRPC sends the error as its own status, in a reply with the HTTP status 200.
            await response.FailAsync(CallFailure.OfRequest(refusal, refusal.Code), null)
                .ConfigureAwait(false);
        }
        catch (Exception e) when (!http.RequestAborted.IsCancellationRequested)
        {
            // All other exceptions come from the application's check of callers.
            CallFailure failure = e is RpcException or MissingMethodException
                ? CallFailure.OfRequest(e)
                : host.Fail(context: null, peer, e);
            Record(http, path, peer, failure.Code);
            await response.FailAsync(failure, null).ConfigureAwait(false);
        }

        if (method is not null)
        {
            Bound(http, method);
            GrpcCallProtocol call = new(
                host, endpoint, http, method, peer, http.Request.BodyReader, reply.BodyWriter, response,
                aborted);
            await ServerCall.RunAsync(call).ConfigureAwait(false);
        }
    }

    // Rejects a request that is not gRPC, with an HTTP status.
    private void Reject(HttpContext http, string path, PeerIdentity peer, int status)
    {
        Record(
            http, path, peer,
            status == StatusCodes.Status403Forbidden
                ? RpcStatusCode.PermissionDenied
                : RpcStatusCode.Unimplemented);
        IHeaderDictionary headers = http.Response.Headers;
        http.Response.StatusCode = status;
        if (status == StatusCodes.Status405MethodNotAllowed)
        {
            headers.Allow = HttpMethods.Post;
        }

        if (status == StatusCodes.Status426UpgradeRequired)
        {
            headers.Upgrade = "HTTP/2";
        }

        if (!HttpProtocol.IsHttp2(http.Request.Protocol))
        {
            // The connection is closed, because a proxy may find the end of the body at another position than
            // Kestrel.
            headers.Connection = "close";
        }
    }

    private void Record(HttpContext http, string path, PeerIdentity peer, RpcStatusCode status) =>
        host.Monitor.Refuse(
            "grpc", endpoint, path.TrimStart('/'), peer, status, parent: HttpActivity.ParentOf(http));

    // The size of each message is limited, but not that of a stream, which may also pause for any time.
    public static void Bound(HttpContext http, ServerMethod method)
    {
        if (http.Features.Get<IHttpMaxRequestBodySizeFeature>() is { IsReadOnly: false } size)
        {
            size.MaxRequestBodySize = null;
        }

        if (method.Info.IsClientStreaming
            && http.Features.Get<IHttpMinRequestBodyDataRateFeature>() is { } rate)
        {
            rate.MinDataRate = null;
        }
    }
}

using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Text;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Cors.Infrastructure;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Http.Metadata;
using Microsoft.AspNetCore.Routing;
using Microsoft.AspNetCore.Routing.Patterns;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.FileProviders;
using Microsoft.Extensions.Primitives;
using ProtoRpc.AspNetCore.Grpc;
using ProtoRpc.AspNetCore.Http;
using ProtoRpc.Protocols.Rest;
using ProtoRpc.Server;

namespace ProtoRpc.AspNetCore.Application;

/// <summary>HTTP and gRPC on the endpoints of an application, after its middleware and routing.</summary>
internal sealed class MappedProtocols : IDisposable
{
    private readonly ServerHost _host;
    private readonly HttpServerOptions _options;
    private readonly HealthService? _health;
    private readonly HttpRoutes _http;
    private readonly GrpcRoutes _grpc;

    // One entry for each address and port of the application.
    private readonly ConcurrentDictionary<MappedPlace, (HttpService Http, GrpcService Grpc)> _services =
        new();
    private readonly MappedCalls _calls = new();

    /// <param name="server">The server. Its stop also ends the requests.</param>
    /// <param name="options">The options of HTTP and gRPC.</param>
    /// <exception cref="RpcException">FailedPrecondition: the options have a check of callers, and the server
    /// already listens on an endpoint that serves anonymous callers.</exception>
    public MappedProtocols(RpcServer server, HttpServerOptions options)
    {
        if (options.Security.IsRequired)
        {
            server.AddCheck();
        }

        Server = server;
        _host = server.Open(StopAsync);
        _options = options;
        _health = GrpcServerProtocol.HealthOf(_host, options);
        _http = new HttpRoutes(_host, basePath: "");
        _grpc = GrpcServerProtocol.Routes(_host, options, _health);
    }

    public RpcServer Server { get; }

    /// <summary>Whether routes of the application lead here.</summary>
    public bool IsMapped { get; set; }

    /// <summary>The first segments of the paths: the names of services and of files.</summary>
    public IEnumerable<string> Names => _grpc.Services.Concat(_http.Files);

    /// <summary>The templates of the HTTP rules, each of which is a path of its own.</summary>
    public IEnumerable<RestTemplate> Templates => _http.Templates;

    /// <summary>Finds the target of a request.</summary>
    public HttpRoute Find(HttpRequest request, string path) => _http.Find(request, path);

    public void Dispose() => _calls.Dispose();

    /// <summary>Answers a request.</summary>
    /// <param name="http">The request.</param>
    /// <param name="path">The path below the mapped base.</param>
    /// <param name="basePath">The base of the paths for the client.</param>
    /// <param name="route">The target of the path, if it was looked up before; otherwise null.</param>
    public Task HandleAsync(HttpContext http, string path, string basePath, HttpRoute? route = null) =>
        _calls.RunAsync(http, aborted => AnswerAsync(http, path, basePath, route, aborted));

    private Task StopAsync(TimeSpan drain)
    {
        _health?.Stop();
        return _calls.StopAsync(drain);
    }

    private async Task AnswerAsync(
        HttpContext http, string path, string basePath, HttpRoute? route, CancellationToken aborted)
    {
        (HttpService Http, GrpcService Grpc) services;
        try
        {
            services = _services.GetOrAdd(MappedPlace.From(http), Make);
        }
        catch (RpcException e)
        {
            // The server requires authentication or TLS for this endpoint, which only the application can
            // configure.
            http.Response.StatusCode = StatusCodes.Status403Forbidden;
            await http.Response.WriteAsync(e.Message, http.RequestAborted).ConfigureAwait(false);
            return;
        }

        PeerIdentity peer = PeerOf(http);
        if (GrpcService.IsGrpc(http.Request))
        {
            await services.Grpc.HandleAsync(http, path, peer, aborted).ConfigureAwait(false);
            return;
        }

        if (http.Features.Get<IHttpMaxRequestBodySizeFeature>() is { IsReadOnly: false } size)
        {
            size.MaxRequestBodySize = _host.Options.Limits.MaxMessageBytes;
        }

        if (await ApplicationCors.AllowsAsync(http).ConfigureAwait(false))
        {
            BrowserPolicy.Allow(http);
        }

        await services.Http.HandleAsync(http, path, basePath, peer, aborted, route).ConfigureAwait(false);
    }

    private (HttpService Http, GrpcService Grpc) Make(MappedPlace place)
    {
        (RpcEndpoint http, RpcEndpoint grpc) = (place.Http, place.Grpc);
        HttpAuthentication authentication = new(
            _options.Security,
            _host.Options.Security.Authentication.HasFlag(RpcAuthentication.None),
            http);
        HostPolicy hosts = new(_options, http, place.IsLocalOnly)
        {
            Setting = "AllowedHosts in the settings of the application",
        };
        return (
            new HttpService(_host, _options, _http, authentication, hosts, http),
            new GrpcService(_host, hosts, _grpc, authentication, grpc));
    }

    // A proxy sends the requests of several callers over one connection, so identities are not cached. The
    // account at the other end of a Unix socket is the proxy's, not the caller's.
    private static PeerIdentity PeerOf(HttpContext http)
    {
        PeerIdentity peer = PeerIdentity.Anonymous(
            http.Connection.RemoteIpAddress is { } ip
                ? new IPEndPoint(ip, http.Connection.RemotePort).ToString()
                : "");
        return peer with
        {
            User = http.User.Identity is { IsAuthenticated: true } user ? user : peer.User,
            ProtectionLevel = http.Request.IsHttps ? RpcProtectionLevel.Privacy : RpcProtectionLevel.None,
        };
    }
}

/// <summary>The address on which an application received a request.</summary>
/// <param name="Address">The address; null for none.</param>
/// <param name="Port">The port at the address.</param>
/// <param name="Path">The path of the Unix socket; null for none.</param>
/// <param name="IsTls">Whether the client, or its proxy, uses TLS.</param>
internal readonly record struct MappedPlace(IPAddress? Address, int Port, string? Path, bool IsTls)
{
    /// <summary>Whether no network reaches it: a Unix socket, a named pipe, or a server without
    /// connections, as that of a test.</summary>
    public bool IsLocalOnly => Address is null;

    /// <summary>The place as an endpoint of HTTP.</summary>
    public RpcEndpoint Http => RpcEndpoint.Parse($"{(IsTls ? "https" : "http")}://{Authority}/");

    /// <summary>The place as an endpoint of gRPC.</summary>
    public RpcEndpoint Grpc => Path is not null
        && RpcEndpoint.TryParse($"grpc+unix://{Path}", out RpcEndpoint? unix)
            ? unix
            : RpcEndpoint.Parse($"{(IsTls ? "grpcs" : "grpc")}://{Authority}");

    private string Authority => Address is null
        ? $"localhost:{(IsTls ? 443 : 80)}"
        : new IPEndPoint(Address, Port).ToString();

    public static MappedPlace From(HttpContext http)
    {
        if (http.Connection.LocalIpAddress is not { } local)
        {
            return new(null, 0, PathOf(http), http.Request.IsHttps);
        }

        // The scope id is removed, because it differs between requests.
        IPAddress address = local.IsIPv4MappedToIPv6 ? local.MapToIPv4()
            : local is { AddressFamily: AddressFamily.InterNetworkV6, ScopeId: not 0 }
                ? new(local.GetAddressBytes())
                : local;
        return new(address, http.Connection.LocalPort, null, http.Request.IsHttps);
    }

    private static string? PathOf(HttpContext http)
    {
        try
        {
            return (http.Features.Get<IConnectionSocketFeature>()?.Socket.LocalEndPoint
                as UnixDomainSocketEndPoint)?.ToString();
        }
        catch (Exception e) when (e is SocketException or ObjectDisposedException)
        {
            // The client disconnected.
            return null;
        }
    }
}

/// <summary>The requests to a mapped server that run now, and their end when it stops.</summary>
internal sealed class MappedCalls : IDisposable
{
    // The time for cancelled handlers to reply.
    private static readonly TimeSpan Grace = TimeSpan.FromSeconds(1);

    private readonly CancellationTokenSource _ends = new();
    private readonly TaskCompletionSource _idle = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Lock _gate = new();
    private int _running;
    private bool _isStopping;

    /// <summary>Runs a request, unless the server stops.</summary>
    /// <param name="http">The request.</param>
    /// <param name="answer">Answers it, until its token is cancelled.</param>
    public async Task RunAsync(HttpContext http, Func<CancellationToken, Task> answer)
    {
        if (!TryBegin())
        {
            await ShutdownRefusal.SendAsync(http).ConfigureAwait(false);
            return;
        }

        try
        {
            using CancellationTokenSource aborted =
                CancellationTokenSource.CreateLinkedTokenSource(http.RequestAborted, _ends.Token);
            await answer(aborted.Token).ConfigureAwait(false);
        }
        finally
        {
            End();
        }
    }

    /// <summary>Rejects new requests, waits for running ones, and cancels them after the time.</summary>
    public async Task StopAsync(TimeSpan drain)
    {
        lock (_gate)
        {
            _isStopping = true;
            if (_running == 0)
            {
                return;
            }
        }

        await WaitAsync(drain).ConfigureAwait(false);
        if (!_idle.Task.IsCompleted)
        {
            await _ends.CancelAsync().ConfigureAwait(false);
            await WaitAsync(Grace).ConfigureAwait(false);
        }
    }

    public void Dispose() => _ends.Dispose();

    private async Task WaitAsync(TimeSpan time)
    {
        try
        {
            await _idle.Task.WaitAsync(time).ConfigureAwait(false);
        }
        catch (TimeoutException)
        {
        }
    }

    private bool TryBegin()
    {
        lock (_gate)
        {
            _running += _isStopping ? 0 : 1;
            return !_isStopping;
        }
    }

    private void End()
    {
        lock (_gate)
        {
            if (--_running == 0 && _isStopping)
            {
                _idle.TrySetResult();
            }
        }
    }
}

/// <summary>The routes of an application that lead to a server.</summary>
internal static class MappedRoutes
{
    // A name that parameters of route groups do not use.
    private const string Rest = "protorpc-method";

    public static IEndpointConventionBuilder Add(IEndpointRouteBuilder endpoints, MappedProtocols protocols)
    {
        if (endpoints.DataSources.OfType<MapMark>().Any())
        {
            throw new InvalidOperationException(
                "These routes already have a server. Map other servers "
                + "under a prefix or a host: app.MapGroup(\"/v2\").MapProtoRpc() or "
                + "app.MapGroup(\"\").RequireHost(\"v2.example.com\").MapProtoRpc().");
        }

        endpoints.DataSources.Add(new MapMark());
        protocols.IsMapped = true;
        RouteGroupBuilder group = endpoints.MapGroup("").WithMetadata(protocols);
        foreach (string name in protocols.Names.Where(IsPath).Distinct(StringComparer.OrdinalIgnoreCase))
        {
            group.Map(PatternOf(name), http =>
            {
                string path = $"/{name}/{http.Request.RouteValues[Rest]}".TrimEnd('/');
                HttpRoute route = protocols.Find(http.Request, path);
                MethodRoutes.Set(http, route.Method?.Info.Name);
                return protocols.HandleAsync(http, path, basePath: "", route);
            }).WithDisplayName($"ProtoRpc {name}");
        }

        foreach ((RoutePattern pattern, RestTemplate template) in protocols.Templates
            .Where(template => template.Segments.Count > 0)
            .Select(template => (Pattern: PatternOf(template), Template: template))
            .DistinctBy(rule => rule.Pattern.RawText, StringComparer.OrdinalIgnoreCase))
        {
            int count = pattern.PathSegments.Count;
            group.Map(pattern, http => protocols.HandleAsync(http, PathOf(http, count), basePath: ""))
                .WithDisplayName($"ProtoRpc {template.Text}");
        }

        // Order 1: the application's own route for this path has priority.
        group.Map("/", http => protocols.HandleAsync(
            http, "/", http.Request.PathBase.Add(http.Request.Path).Value ?? ""))
            .WithDisplayName("ProtoRpc services")
            .Add(route => ((RouteEndpointBuilder)route).Order = 1);
        return group;
    }

    // ASP.NET Core's routing only finds the server. The server then finds the rule, because rules have
    // variables of several segments and are selected by HTTP method.
    private static RoutePattern PatternOf(RestTemplate template)
    {
        List<RoutePatternPathSegment> segments = [];
        StringBuilder text = new();
        foreach (RestSegment segment in template.Segments)
        {
            bool isLast = segments.Count == template.Segments.Count - 1;
            string literal = isLast && template.Verb is { } verb
                ? $"{segment.Literal}:{verb}"
                : segment.Literal;
            bool isLiteral = segment.Kind == RestSegmentKind.Literal && !literal.AsSpan().ContainsAny("/?%");
            bool isDeep = segment.Kind == RestSegmentKind.Deep;
            segments.Add(RoutePatternFactory.Segment(isLiteral
                ? RoutePatternFactory.LiteralPart(literal)
                : RoutePatternFactory.ParameterPart(
                    $"{Rest}-{segments.Count}", @default: null,
                    isDeep ? RoutePatternParameterKind.CatchAll : RoutePatternParameterKind.Standard)));
            text.Append('/').Append(isLiteral ? literal : isDeep ? "{**}" : "{}");
            if (isDeep)
            {
                break;
            }
        }

        return RoutePatternFactory.Pattern(text.ToString(), segments);
    }

    // The path without the segments that the application added before the rule.
    private static string PathOf(HttpContext http, int count)
    {
        string path = http.Request.Path.Value ?? "/";
        int before = (http.GetEndpoint() as RouteEndpoint)?.RoutePattern.PathSegments.Count - count ?? 0;
        int start = 0;
        for (; before > 0 && start >= 0; before--)
        {
            start = path.IndexOf('/', start + 1);
        }

        return start < 0 ? "/" : path[start..];
    }

    private static bool IsPath(string name) =>
        name.Split('/').All(part => part.Length > 0 && !part.Contains('?'));

    private static RoutePattern PatternOf(string name) => RoutePatternFactory.Pattern(
        $"/{name}/{{**{Rest}}}",
    [
        .. name.Split('/').Select(
            part => RoutePatternFactory.Segment(RoutePatternFactory.LiteralPart(part))),
        RoutePatternFactory.Segment(RoutePatternFactory.ParameterPart(
            Rest, @default: null, RoutePatternParameterKind.CatchAll)),
    ]);
}

/// <summary>Sets the route of a request to one for its method, because measurements and activities of ASP.NET
/// Core read the route when the request ends. Mapping a route for each method would be ambiguous with routes
/// of the application.</summary>
internal static class MethodRoutes
{
    // One entry for each method of a route.
    private static readonly ConditionalWeakTable<Endpoint, ConcurrentDictionary<string, Endpoint>> Known = [];

    public static void Set(HttpContext http, string? method)
    {
        if (method is not null && http.GetEndpoint() is RouteEndpoint route)
        {
            http.SetEndpoint(Known.GetOrCreateValue(route).GetOrAdd(method, Create, route));
        }
    }

    private static Endpoint Create(string method, RouteEndpoint route)
    {
        string text = route.RoutePattern.RawText!;
        RoutePattern pattern = RoutePatternFactory.Pattern(
            text[..(text.LastIndexOf('/') + 1)] + method,
            [
                .. route.RoutePattern.PathSegments.SkipLast(1),
                RoutePatternFactory.Segment(RoutePatternFactory.LiteralPart(method)),
            ]);
        RouteEndpointBuilder named = new(route.RequestDelegate, pattern, route.Order)
        {
            DisplayName = route.DisplayName,
        };
        foreach (object data in route.Metadata.Where(data => data is not IRouteDiagnosticsMetadata))
        {
            named.Metadata.Add(data);
        }

        return named.Build();
    }
}

/// <summary>Marks routes that have a server: a source of no endpoints.</summary>
internal sealed class MapMark : EndpointDataSource
{
    public override IReadOnlyList<Endpoint> Endpoints => [];

    public override IChangeToken GetChangeToken() => NullChangeToken.Singleton;
}

/// <summary>Applies the CORS policies of an application to a request.</summary>
internal static class ApplicationCors
{
    // The CORS middleware marks processed requests with this key.
    private const string Seen = "__CorsMiddlewareWithEndpointInvoked";

    /// <summary>Whether the application allows calls from pages of the request's origin: by the policy of the
    /// endpoint, otherwise by the default policy.</summary>
    public static async ValueTask<bool> AllowsAsync(HttpContext http)
    {
        string origin = http.Request.Headers.Origin.ToString();
        if (origin.Length == 0 || !http.Items.ContainsKey(Seen)
            || http.RequestServices.GetService<ICorsPolicyProvider>() is not { } policies)
        {
            return false;
        }

        CorsPolicy? policy = http.GetEndpoint()?.Metadata.GetMetadata<ICorsMetadata>() switch
        {
            IDisableCorsAttribute => null,
            ICorsPolicyMetadata own => own.Policy,
            IEnableCorsAttribute named =>
                await policies.GetPolicyAsync(http, named.PolicyName).ConfigureAwait(false),
            _ => await policies.GetPolicyAsync(http, policyName: null).ConfigureAwait(false),
        };
        return policy is not null && (policy.AllowAnyOrigin || policy.IsOriginAllowed(origin));
    }
}

using System.Text;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.Primitives;
using ProtoRpc.AspNetCore.Grpc;
using ProtoRpc.AspNetCore.OpenApi;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Protocols.Rest;
using ProtoRpc.Security;
using ProtoRpc.Server;
using ProtoRpc.Server.Calls;
using ProtoRpc.Transports.Http;

namespace ProtoRpc.AspNetCore.Http;

/// <summary>Answers the requests of one HTTP endpoint: calls, the files of the schema, the page.</summary>
internal sealed class HttpService
{
    private readonly HttpRoutes _routes;
    private readonly ServerHost _host;
    private readonly RpcEndpoint _endpoint;
    private readonly HttpReplies _replies;
    private readonly ServicePage _page;
    private readonly OpenApiFile _openApi;
    private readonly HostPolicy _hosts;
    private readonly BrowserPolicy _browsers;
    private readonly HttpAuthentication _authentication;
    private readonly GrpcWebService _grpcWeb;
    private readonly bool _allowsGet;
    private readonly bool _isLoopback;
    private readonly bool _showsSchema;

    public HttpService(
        ServerHost host, HttpServerOptions options, SecurityPolicy policy, RpcEndpoint endpoint)
        : this(
            host, options, new HttpRoutes(host, BasePath.Get(endpoint)),
            new HttpAuthentication(options.Security, policy, endpoint),
            new HostPolicy(options, endpoint), endpoint, isMapped: false)
    {
    }

    public HttpService(
        ServerHost host, HttpServerOptions options, HttpRoutes routes,
        HttpAuthentication authentication, HostPolicy hosts, RpcEndpoint endpoint, bool isMapped = true)
    {
        _routes = routes;
        _host = host;
        _endpoint = endpoint;
        _replies = new HttpReplies(host.Options.Limits, options, isMapped);
        _page = new ServicePage(host.Services, host.HttpRules);
        _openApi = new OpenApiFile(host.Services, authentication.Describe());
        _hosts = hosts;
        _browsers = new BrowserPolicy(options.AllowedOrigins, authentication.HasPasswords);
        _authentication = authentication;
        _grpcWeb = new GrpcWebService(host, endpoint);
        _allowsGet = options.AllowGet;
        _isLoopback = HttpTransport.IsLoopback(endpoint.Host);
        _showsSchema = options.EnableReflection;
    }

    /// <summary>Answers a request to an endpoint that the server opened.</summary>
    public Task HandleAsync(HttpContext http) => HandleAsync(
        http, http.Request.Path.Value ?? "/", _endpoint.Name, ConnectionPeer.IdentityOf(http),
        http.RequestAborted);

    /// <summary>Answers a request.</summary>
    /// <param name="http">The request.</param>
    /// <param name="path">The path below the base.</param>
    /// <param name="basePath">The base of the paths for the client.</param>
    /// <param name="peer">The sender, as identified by the connection or the application.</param>
    /// <param name="aborted">Cancelled when the caller disconnects, or the server stops.</param>
    /// <param name="route">The target of the path, if it was looked up before; otherwise null.</param>
    public async Task HandleAsync(
        HttpContext http, string path, string basePath, PeerIdentity peer, CancellationToken aborted,
        HttpRoute? route = null)
    {
        HttpTrace.Begin(_host.Options.Trace, _endpoint, http);
        ServerMethod? called = null;
        try
        {
            HttpFraming.Check(http);
            _hosts.Check(http.Request);
            route ??= _routes.Find(http.Request, path);
            bool isOptions = HttpMethods.IsOptions(http.Request.Method);
            if (route.Method is not null || route.IsRule)
            {
                _browsers.Check(
                    http, isOptions && route.IsRule ? AllowOf(http.Request, route) : "GET, HEAD, POST");
            }

            if (isOptions)
            {
                // A browser sends a preflight request without credentials, so callers are not authenticated.
                http.Response.StatusCode = StatusCodes.Status204NoContent;
                http.Response.Headers.Allow = AllowOf(http.Request, route);
                return;
            }

            peer = await _authentication.CheckAsync(http, peer).ConfigureAwait(false);
            called = await AnswerAsync(http, route, path, basePath, peer, aborted).ConfigureAwait(false);
        }
        catch (Exception e) when (!http.RequestAborted.IsCancellationRequested)
        {
            CallFailure failure = HttpFailure.RefusalOf(e, _host.Options.Limits)
                ?? _host.Fail(context: null, peer, e);
            _host.Monitor.Refuse(
                "protorpc", _endpoint, path.TrimStart('/'), peer, failure.Code,
                http.Request.ContentLength ?? 0, HttpActivity.ParentOf(http));
            await _replies.FailAsync(
                http, HttpFailure.From(failure),
                writer: route is { IsRule: true } ? RestCallProtocol.WriterOf(http.Request) : null)
                .ConfigureAwait(false);
        }
        catch (Exception) when (http.RequestAborted.IsCancellationRequested)
        {
            // The caller has disconnected, so no reply can be sent.
        }

        if (called is not null)
        {
            await ServerCall.RunAsync(route!.Rule is { } rule
                ? new RestCallProtocol(_replies, _host, _endpoint, http, called, peer, rule, aborted)
                : ConnectCallProtocol.FormatOf(http.Request, called) is { } format
                ? new ConnectCallProtocol(
                    _replies, _host, _endpoint, http, called, format, peer, aborted)
                : new HttpCallProtocol(_replies, _host, _endpoint, http, called, peer, aborted))
                .ConfigureAwait(false);
        }
    }

    // Replies to requests that are not calls. Returns the method of a call.
    private async ValueTask<ServerMethod?> AnswerAsync(
        HttpContext http, HttpRoute route, string path, string basePath, PeerIdentity peer,
        CancellationToken aborted)
    {
        if (HttpMethods.IsPost(http.Request.Method) && !route.IsRule
            && GrpcWebService.IsGrpcWeb(http.Request))
        {
            await _grpcWeb.HandleAsync(http, route.Method, route.Missing, peer, aborted)
                .ConfigureAwait(false);
        }
        else if (route is { Rule: { } rule, Method: { } ruled })
        {
            // A rule for all HTTP methods does not mean that GET is safe.
            if (rule.Binding.HttpMethod == RestBinding.AnyMethod && IsGet(http.Request))
            {
                RequireMethod(http, route);
            }

            return ruled;
        }
        else if (route.Allowed is not null)
        {
            throw WrongMethod(http, AllowOf(http.Request, route));
        }
        else if (route.Method is { } method)
        {
            RequireMethod(http, route);
            return method;
        }
        else if (route.File is { } file)
        {
            RequireMethod(http, route);
            RequireSchema(path, peer);
            await WriteTextAsync(http, "text/plain; charset=utf-8", file.Bytes).ConfigureAwait(false);
        }
        else if (route.IsOpenApi)
        {
            RequireMethod(http, route);
            RequireSchema(path, peer);
            await WriteTextAsync(http, "application/json", _openApi.BytesAt(basePath)).ConfigureAwait(false);
        }
        else if (route.IsPage)
        {
            RequireMethod(http, route);
            RequireSchema(path, peer);
            http.Response.Headers.ContentSecurityPolicy = ServicePage.ContentSecurityPolicy;
            byte[] page = Encoding.UTF8.GetBytes(_page.TextAt(basePath));
            await WriteTextAsync(http, "text/html; charset=utf-8", page).ConfigureAwait(false);
        }
        else
        {
            throw new HttpRefusal(StatusCodes.Status404NotFound, RpcStatusCode.Unimplemented, route.Missing);
        }

        return null;
    }

    // The page and the files contain the same information as reflection, so the same callers can read them.
    private void RequireSchema(string path, PeerIdentity peer)
    {
        if (!_showsSchema)
        {
            throw new HttpRefusal(
                StatusCodes.Status404NotFound, RpcStatusCode.Unimplemented,
                HttpRoute.NothingAt(path));
        }

        foreach (RpcAuthorization rules in _host.Interceptors.OfType<RpcAuthorization>())
        {
            rules.Require(peer.User, ReflectionService.MethodName);
        }
    }

    private void RequireMethod(HttpContext http, HttpRoute route)
    {
        string method = http.Request.Method;
        bool isGet = IsGet(http.Request);
        if (isGet ? TakesGet(http.Request, route) : HttpMethods.IsPost(method) && route.Method is not null)
        {
            return;
        }

        throw WrongMethod(
            http, AllowOf(http.Request, route),
            isGet
                ? $"{method} requests{(_isLoopback ? " of browsers" : "")} can call only methods with "
                    + $"idempotency_level = NO_SIDE_EFFECTS. '{route.Method!.Info.FullName}' does not have "
                    + "this option. Use POST, or allow GET on the listener (AllowGet)."
                : null);
    }

    private static bool IsGet(HttpRequest request) =>
        HttpMethods.IsGet(request.Method) || HttpMethods.IsHead(request.Method);

    private static HttpRefusal WrongMethod(HttpContext http, string allow, string? why = null)
    {
        http.Response.Headers.Allow = allow;
        return new HttpRefusal(
            StatusCodes.Status405MethodNotAllowed, RpcStatusCode.Unimplemented,
            why ?? $"{http.Request.Method} is not supported here; use one of {allow}.");
    }

    // A link or an image on any page makes a browser send a GET, often without its origin. On loopback, curl
    // and scripts can call by GET.
    private bool TakesGet(HttpRequest request, HttpRoute route) =>
        _allowsGet || route.Method is null || _routes.IsSafe(route.Method.Info)
        || (_isLoopback && !BrowserPolicy.IsByPage(request));

    private string AllowOf(HttpRequest request, HttpRoute route) =>
        route.Allowed is { } allowed ? string.Join(", ", allowed.Append("OPTIONS"))
        : route.Rule is not null && TakesGet(request, route)
            ? "GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS"
        : route.Rule is not null ? "POST, PUT, DELETE, PATCH, OPTIONS"
        : route.Method is null ? "GET, HEAD, OPTIONS"
        : TakesGet(request, route) ? "GET, HEAD, POST, OPTIONS"
        : "POST, OPTIONS";

    private static Task WriteTextAsync(HttpContext http, string mediaType, byte[] bytes)
    {
        http.Response.ContentType = mediaType;
        http.Response.Headers.XContentTypeOptions = "nosniff";
        http.Response.ContentLength = bytes.Length;
        return http.Response.Body.WriteAsync(bytes, http.RequestAborted).AsTask();
    }
}

/// <summary>Traces the headers of requests and responses. The query is omitted, because it may be a
/// message.</summary>
internal static class HttpTrace
{
    /// <summary>Traces a request and, after it was sent, its response.</summary>
    public static void Begin(RpcTrace? trace, RpcEndpoint endpoint, HttpContext http)
    {
        if (trace is not { IsEnabled: true })
        {
            return;
        }

        HttpRequest request = http.Request;
        string query = request.QueryString is { HasValue: true, Value: { } value }
            ? $"?({value.Length - 1} characters)"
            : "";
        trace.Add(
            isSent: false, endpoint,
            $"{request.Method} {request.Path.Value}{query} {request.Protocol}, "
            + $"{SizeOf(request.ContentLength)}{TextOf(request.Headers)}");
        http.Response.OnCompleted(() =>
        {
            HttpResponse response = http.Response;
            IHeaderDictionary? sent = http.Features.Get<IHttpResponseTrailersFeature>()?.Trailers;
            string trailers = sent is { Count: > 0 } ? $"; trailers{TextOf(sent)}" : "";
            trace.Add(
                isSent: true, endpoint,
                $"{request.Protocol} {response.StatusCode}, "
                + $"{SizeOf(response.ContentLength)}{TextOf(response.Headers)}{trailers}");
            return Task.CompletedTask;
        });
    }

    private static string SizeOf(long? length) =>
        length is { } bytes ? $"body {bytes} bytes" : "body of unknown length";

    private static string TextOf(IEnumerable<KeyValuePair<string, StringValues>> headers) =>
        HeaderTrace.TextOf(
            headers.Select(header => KeyValuePair.Create(header.Key, header.Value.ToString())));
}

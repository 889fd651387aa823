using System.Text;
using Microsoft.AspNetCore.Http;
using ProtoRpc.Hosting.Grpc;
using ProtoRpc.Security;
using ProtoRpc.Server;
using ProtoRpc.Transports;

namespace ProtoRpc.Hosting.Http;

/// <summary>Answers the requests of one HTTP endpoint: calls, the files of the schema, the page.</summary>
internal sealed class HttpService
{
    private readonly HttpRoutes _routes;
    private readonly ServerHost _host;
    private readonly RpcEndpoint _endpoint;
    private readonly HttpReplies _replies;
    private readonly ServicePage _page;
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
            host, options, new HttpRoutes(host.Services, ServerPing.MethodOf(host), endpoint.Name),
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
        _page = new ServicePage(host.Services);
        _hosts = hosts;
        _browsers = new BrowserPolicy(options.AllowedOrigins);
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
    /// <param name="path">What it asks for.</param>
    /// <param name="basePath">What paths begin with for the client.</param>
    /// <param name="peer">The sender, as identified by the connection or the application.</param>
    /// <param name="aborted">Cancelled when the caller disconnects, or the server stops.</param>
    public async Task HandleAsync(
        HttpContext http, string path, string basePath, PeerIdentity peer, CancellationToken aborted)
    {
        HttpTrace.Begin(_host.Options.Trace, _endpoint, http);
        ServerMethod? called = null;
        try
        {
            HttpFraming.Check(http);
            _hosts.Check(http.Request);
            HttpRoute route = _routes.Find(path);
            if (route.Method is not null)
            {
                _browsers.Check(http);
            }

            if (HttpMethods.IsOptions(http.Request.Method))
            {
                // A browser asks without saying for whom.
                http.Response.StatusCode = StatusCodes.Status204NoContent;
                http.Response.Headers.Allow = AllowOf(http.Request, route);
                return;
            }

            peer = await _authentication.CheckAsync(http, peer).ConfigureAwait(false);
            called = await AnswerAsync(http, route, path, basePath, peer, aborted)
                .ConfigureAwait(false);
        }
        catch (Exception e) when (!http.RequestAborted.IsCancellationRequested)
        {
            CallFailure failure = HttpFailure.RefusalOf(e) ?? _host.Fail(context: null, peer, e);
            _host.Monitor.Refuse(
                "protorpc", _endpoint, path.TrimStart('/'), peer, failure.Code,
                http.Request.ContentLength ?? 0, HttpActivity.ParentOf(http));
            await _replies.FailAsync(http, HttpFailure.Of(failure)).ConfigureAwait(false);
        }
        catch (Exception) when (http.RequestAborted.IsCancellationRequested)
        {
            // The caller has disconnected, so no reply can be sent.
        }

        if (called is not null)
        {
            await new HttpServerCall(_replies, _host, _endpoint, http, called, peer, aborted)
                .RunAsync().ConfigureAwait(false);
        }
    }

    // Answers what is no call; a method that is called is the result.
    private async ValueTask<ServerMethod?> AnswerAsync(
        HttpContext http, HttpRoute route, string path, string basePath, PeerIdentity peer,
        CancellationToken aborted)
    {
        if (HttpMethods.IsPost(http.Request.Method) && GrpcWebService.IsGrpcWeb(http.Request))
        {
            await _grpcWeb.HandleAsync(http, route.Method, route.Missing, peer, aborted)
                .ConfigureAwait(false);
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

    // The page and the files show what reflection shows, so the same callers may read them.
    private void RequireSchema(string path, PeerIdentity peer)
    {
        if (!_showsSchema)
        {
            throw new HttpRefusal(
                StatusCodes.Status404NotFound, RpcStatusCode.Unimplemented,
                HttpRoute.Nothing(path).Missing);
        }

        foreach (RpcAuthorization rules in _host.Interceptors.OfType<RpcAuthorization>())
        {
            rules.Require(peer.User, ReflectionService.MethodName);
        }
    }

    private void RequireMethod(HttpContext http, HttpRoute route)
    {
        string method = http.Request.Method;
        bool isGet = HttpMethods.IsGet(method) || HttpMethods.IsHead(method);
        if (isGet ? TakesGet(http.Request, route) : HttpMethods.IsPost(method) && route.Method is not null)
        {
            return;
        }

        string allow = AllowOf(http.Request, route);
        http.Response.Headers.Allow = allow;
        throw new HttpRefusal(
            StatusCodes.Status405MethodNotAllowed,
            RpcStatusCode.Unimplemented,
            isGet
                ? $"{method} calls only methods with idempotency_level = NO_SIDE_EFFECTS "
                    + (_isLoopback ? "from a browser" : "here")
                    + $", which '{route.Method!.Info.FullName}' does not have. Use POST, or allow GET on the "
                    + "listener (AllowGet)."
                : $"{method} is not supported here; use one of {allow}.");
    }

    // A link or image of any page makes a browser send a GET, often without a word on where it comes from. On
    // loopback, curl and scripts may call by GET.
    private bool TakesGet(HttpRequest request, HttpRoute route) =>
        _allowsGet || route.Method is null || route.Method.Info.HasNoSideEffects
        || (_isLoopback && !BrowserPolicy.IsByPage(request));

    private string AllowOf(HttpRequest request, HttpRoute route) =>
        route.Method is null ? "GET, HEAD, OPTIONS"
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

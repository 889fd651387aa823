using System.Collections.Frozen;
using System.Text;
using Google.Protobuf.Reflection;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.Primitives;
using ProtoRpc.AspNetCore.Grpc;
using ProtoRpc.AspNetCore.OpenApi;
using ProtoRpc.Protocols.Http;
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
        _openApi = new OpenApiFile(host.Services, authentication.Describe());
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
            called = await AnswerAsync(http, route, path, basePath, peer, aborted).ConfigureAwait(false);
        }
        catch (Exception e) when (!http.RequestAborted.IsCancellationRequested)
        {
            CallFailure failure = HttpFailure.RefusalOf(e, _host.Options.Limits)
                ?? _host.Fail(context: null, peer, e);
            _host.Monitor.Refuse(
                "protorpc", _endpoint, path.TrimStart('/'), peer, failure.Code,
                http.Request.ContentLength ?? 0, HttpActivity.ParentOf(http));
            await _replies.FailAsync(http, HttpFailure.From(failure)).ConfigureAwait(false);
        }
        catch (Exception) when (http.RequestAborted.IsCancellationRequested)
        {
            // The caller has disconnected, so no reply can be sent.
        }

        if (called is not null)
        {
            await ServerCall.RunAsync(
                new HttpCallProtocol(_replies, _host, _endpoint, http, called, peer, aborted))
                .ConfigureAwait(false);
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

/// <summary>What the paths of an HTTP endpoint lead to. They compare without regard to case.</summary>
/// <remarks>
/// <c>/package.Service/Method</c> is a method, <c>/file.proto</c> the text of a file,
/// <c>/file.proto/Method</c> a method of the services that the file declares, and <c>/openapi.json</c> the
/// document of OpenAPI.
/// Files are those of the services and what they import, so that a client can load the schema from here.
/// </remarks>
internal sealed class HttpRoutes
{
    private readonly string _base;
    private readonly FrozenDictionary<string, ServerService> _services;
    private readonly FrozenDictionary<string, SchemaText> _files;
    private readonly ILookup<string, ServerService> _servicesByFile;
    private readonly ServerMethod _ping;

    // What most requests ask for, found without taking the path apart.
    private readonly FrozenDictionary<string, (ServerService Service, string Name)> _methods;

    /// <param name="services">The services.</param>
    /// <param name="ping">The ping of the server, which no file and no page shows.</param>
    /// <param name="basePath">What all paths begin with.</param>
    public HttpRoutes(IReadOnlyList<ServerService> services, ServerMethod ping, string basePath)
    {
        _ping = ping;
        _base = basePath.TrimEnd('/');
        _services = services.ToFrozenDictionary(
            service => service.Info.FullName, StringComparer.OrdinalIgnoreCase);
        _servicesByFile = services.ToLookup(
            service => service.Info.File.Name, StringComparer.OrdinalIgnoreCase);
        Dictionary<string, SchemaText> files = new(StringComparer.OrdinalIgnoreCase);
        foreach (IGrouping<RpcSchema, ServerService> group in services.GroupBy(
            service => service.Info.Schema))
        {
            Dictionary<string, FileDescriptorProto> all = group.Key.SchemaFiles.ToDictionary(
                file => file.Name, file => file.Proto, StringComparer.Ordinal);
            foreach (ServerService service in group)
            {
                AddFiles(files, group.Key, all, service.Info.File.Name);
            }
        }

        _files = files.ToFrozenDictionary(StringComparer.OrdinalIgnoreCase);
        _methods = (
            from service in services
            from method in service.Info.Methods
            let path = $"{_base}/{service.Info.FullName}/{method.Name}"
            select KeyValuePair.Create(path, (service, method.Name))).ToFrozenDictionary();
    }

    /// <summary>The names of the files.</summary>
    public IEnumerable<string> Files => _files.Keys;

    public HttpRoute Find(string path)
    {
        if (_methods.TryGetValue(path, out (ServerService Service, string Name) known)
            && known.Service.Find(known.Name) is { } called)
        {
            return new HttpRoute { Method = called };
        }

        if (!path.StartsWith(_base, StringComparison.OrdinalIgnoreCase)
            || (path.Length > _base.Length && path[_base.Length] != '/'))
        {
            return HttpRoute.Nothing(path);
        }

        string inside = path[_base.Length..].Trim('/');
        if (inside.Length == 0)
        {
            return new HttpRoute { IsPage = true };
        }

        if (inside.Equals(OpenApiFile.Name, StringComparison.OrdinalIgnoreCase))
        {
            return new HttpRoute { IsOpenApi = true };
        }

        if (_files.TryGetValue(inside, out SchemaText? file))
        {
            return new HttpRoute { File = file };
        }

        int slash = inside.LastIndexOf('/');
        if (inside.Equals(_ping.Info.FullName, StringComparison.OrdinalIgnoreCase)
            && !_services.ContainsKey(_ping.Info.Service.FullName))
        {
            return new HttpRoute { Method = _ping };
        }

        return slash < 0 ? HttpRoute.Nothing(path) : FindMethod(inside[..slash], inside[(slash + 1)..], path);
    }

    // Files that are only imported for their options come along, because the text imports them.
    private static void AddFiles(
        Dictionary<string, SchemaText> files, RpcSchema schema,
        Dictionary<string, FileDescriptorProto> all, string name)
    {
        if (all.TryGetValue(name, out FileDescriptorProto? file)
            && files.TryAdd(name, new SchemaText(schema, name)))
        {
            foreach (string import in file.Dependency.Concat(file.OptionDependency))
            {
                AddFiles(files, schema, all, import);
            }
        }
    }

    private HttpRoute FindMethod(string place, string name, string path)
    {
        if (_services.TryGetValue(place, out ServerService? service))
        {
            return service.Find(name) is { } method
                ? new HttpRoute { Method = method }
                : NoMethod(service, name);
        }

        ServerService[] declared = [.. _servicesByFile[place]];
        ServerMethod[] found = [.. declared.Select(s => s.Find(name)).OfType<ServerMethod>()];
        return found switch
        {
            [{ } only] => new HttpRoute { Method = only },
            [] when declared is [{ } alone] => NoMethod(alone, name),
            [] => HttpRoute.Nothing(path),
            _ => HttpRoute.NotFound(
                $"'{place}' declares several methods '{name}'; "
                + $"write /{string.Join(" or /", found.Select(m => m.Info.FullName))}."),
        };
    }

    private static HttpRoute NoMethod(ServerService service, string name) =>
        HttpRoute.NotFound($"Method '{service.Info.FullName}.{name}' not found.");
}

/// <summary>What a path leads to: a method, a file of the schema,
/// the page of the services, the document of OpenAPI, or nothing.</summary>
internal sealed class HttpRoute
{
    public ServerMethod? Method { get; init; }

    public SchemaText? File { get; init; }

    public bool IsPage { get; init; }

    public bool IsOpenApi { get; init; }

    /// <summary>What is not there.</summary>
    public string Missing { get; private init; } = "";

    public static HttpRoute NotFound(string what) => new() { Missing = what };

    public static HttpRoute Nothing(string path) => NotFound(
        $"There is nothing at '{path}'. Methods are at /package.Service/Method and at /file.proto/Method.");
}

/// <summary>A file of a schema as text, which is written once: writing a large file takes a second.</summary>
internal sealed class SchemaText(RpcSchema schema, string fileName)
{
    private readonly Lazy<byte[]> _bytes = new(() => Encoding.UTF8.GetBytes(schema.ToProtoText(fileName)));

    /// <summary>The text in UTF-8.</summary>
    public byte[] Bytes => _bytes.Value;
}

/// <summary>Traces the heads of requests and of answers. A query is left out: it may be a message.</summary>
internal static class HttpTrace
{
    /// <summary>Traces a request, and its answer when that has gone.</summary>
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

using System.Collections.Concurrent;
using System.Net;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using ProtoRpc.Hosting.Grpc;
using ProtoRpc.Hosting.Http;
using ProtoRpc.Server;

namespace ProtoRpc.Hosting.Application;

/// <summary>HTTP and gRPC on the endpoints of an application, behind its middleware and routing.</summary>
internal sealed class MappedFaces : IDisposable
{
    private readonly ServerHost _host;
    private readonly HttpServerOptions _options;
    private readonly HealthService? _health;
    private readonly HttpRoutes _http;
    private readonly GrpcRoutes _grpc;

    // As many as the application has addresses and ports.
    private readonly ConcurrentDictionary<MappedPlace, (HttpService Http, GrpcService Grpc)> _services =
        new();
    private readonly MappedCalls _calls = new();

    /// <param name="server">The server, whose stop is also that of the requests.</param>
    /// <param name="options">How HTTP and gRPC behave.</param>
    /// <exception cref="RpcException">FailedPrecondition: the options have a check of callers, and the server
    /// already listens on an endpoint that serves anonymous callers.</exception>
    public MappedFaces(RpcServer server, HttpServerOptions options)
    {
        if (options.Security.IsRequired)
        {
            server.AddCheck();
        }

        Server = server;
        _host = server.Open(StopAsync);
        _options = options;
        _health = GrpcFace.HealthOf(_host, options);
        _http = new HttpRoutes(_host.Services, ServerPing.MethodOf(_host), basePath: "");
        _grpc = GrpcFace.Routes(_host, options, _health);
    }

    /// <summary>The server.</summary>
    public RpcServer Server { get; }

    /// <summary>Whether routes of the application lead here.</summary>
    public bool IsMapped { get; set; }

    /// <summary>What the paths begin with: the names of services and of files.</summary>
    public IEnumerable<string> Names => _grpc.Services.Concat(_http.Files);

    public void Dispose() => _calls.Dispose();

    /// <summary>Answers a request.</summary>
    /// <param name="http">The request.</param>
    /// <param name="path">What it asks for, within what is mapped.</param>
    /// <param name="basePath">What paths begin with for the client.</param>
    public Task HandleAsync(HttpContext http, string path, string basePath) =>
        _calls.RunAsync(http, aborted => AnswerAsync(http, path, basePath, aborted));

    private Task StopAsync(TimeSpan drain)
    {
        _health?.Stop();
        return _calls.StopAsync(drain);
    }

    private async Task AnswerAsync(
        HttpContext http, string path, string basePath, CancellationToken aborted)
    {
        (HttpService Http, GrpcService Grpc) services;
        try
        {
            services = _services.GetOrAdd(MappedPlace.Of(http), Make);
        }
        catch (RpcException e)
        {
            // What the server demands of an endpoint, and what only the application can give it.
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

        await services.Http.HandleAsync(http, path, basePath, peer, aborted).ConfigureAwait(false);
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

    // Connections of a proxy bring the requests of many, so nothing is kept from request to request, and the
    // name that the kernel has of the proxy is not that of the caller.
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

using System.Collections.Concurrent;
using System.Net;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using ProtoRpc.Hosting.Grpc;
using ProtoRpc.Hosting.Http;
using ProtoRpc.Server;

namespace ProtoRpc.Hosting.Application;

/// <summary>HTTP and gRPC on the endpoints of an application, behind its middleware and routing.</summary>
internal sealed class MappedFaces
{
    private readonly ServerHost _host;
    private readonly HttpServerOptions _options;
    private readonly HealthService? _health;
    private readonly HttpRoutes _http;
    private readonly GrpcRoutes _grpc;

    // As many as the application has addresses and ports.
    private readonly ConcurrentDictionary<string, (HttpService Http, GrpcService Grpc)> _services = new();

    public MappedFaces(RpcServer server, HttpServerOptions options)
    {
        _host = server.Open();
        _options = options;
        _health = GrpcFace.HealthOf(_host, options);
        _http = new HttpRoutes(_host.Services, ServerPing.MethodOf(_host), basePath: "");
        _grpc = GrpcFace.Routes(_host, options, _health);
    }

    /// <summary>What the paths begin with: the names of services and of files.</summary>
    public IEnumerable<string> Names => _grpc.Services.Concat(_http.Files);

    /// <summary>Tells those who watch that the end comes.</summary>
    public void Stop() => _health?.Stop();

    /// <summary>Answers a request.</summary>
    /// <param name="http">The request.</param>
    /// <param name="path">What it asks for, within what is mapped.</param>
    /// <param name="basePath">What paths begin with for the client.</param>
    public async Task HandleAsync(HttpContext http, string path, string basePath)
    {
        bool isGrpc = GrpcService.IsGrpc(http.Request);
        RpcEndpoint endpoint = EndpointOf(http);
        (HttpService Http, GrpcService Grpc) services;
        try
        {
            services = _services.GetOrAdd(endpoint.Uri, _ => Make(endpoint));
        }
        catch (RpcException e)
        {
            // What the server demands of an endpoint, and what only the application can give it.
            http.Response.StatusCode = StatusCodes.Status403Forbidden;
            await http.Response.WriteAsync(e.Message, http.RequestAborted).ConfigureAwait(false);
            return;
        }

        PeerIdentity peer = PeerOf(http);
        if (isGrpc)
        {
            await services.Grpc.HandleAsync(http, path, peer).ConfigureAwait(false);
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

        await services.Http.HandleAsync(http, path, basePath, peer).ConfigureAwait(false);
    }

    private (HttpService Http, GrpcService Grpc) Make(RpcEndpoint endpoint)
    {
        string authority = new Uri(endpoint.Uri).Authority;
        RpcEndpoint grpc = RpcEndpoint.Parse($"{(endpoint.IsTls ? "grpcs" : "grpc")}://{authority}");
        HttpAuthentication authentication = new(
            _options.Security,
            _host.Options.Security.Authentication.HasFlag(RpcAuthentication.None),
            endpoint);
        return (
            new HttpService(_host, _options, _http, authentication, endpoint),
            new GrpcService(_host, _options, _grpc, authentication, grpc));
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

    private static RpcEndpoint EndpointOf(HttpContext http)
    {
        string scheme = http.Request.IsHttps ? "https" : "http";
        if (http.Connection.LocalIpAddress is not { } local)
        {
            // A Unix socket or a server without sockets, of which both are local.
            return RpcEndpoint.Parse($"{scheme}://localhost:{(http.Request.IsHttps ? 443 : 80)}/");
        }

        IPAddress address = local.IsIPv4MappedToIPv6 ? local.MapToIPv4() : new(local.GetAddressBytes());
        return RpcEndpoint.Parse($"{scheme}://{new IPEndPoint(address, http.Connection.LocalPort)}/");
    }
}

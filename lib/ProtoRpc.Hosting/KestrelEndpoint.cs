using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Abstractions;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.DependencyInjection;
using ProtoRpc.Hosting.Http;
using ProtoRpc.Hosting.Pings;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Server;
using ProtoRpc.Transports;

namespace ProtoRpc.Hosting;

/// <summary>A bound HTTP endpoint: Kestrel with our limits, and nothing around it that would read settings,
/// write logs, or take signals from the shell.</summary>
internal sealed class KestrelEndpoint : IServedEndpoint
{
    // A handler that observes the cancellation can still reply.
    private static readonly TimeSpan Grace = TimeSpan.FromSeconds(1);

    // A client that sends a body more slowly only keeps the connection busy, so the connection is
    // closed after some seconds.
    private const int MinBytesPerSecond = 240;
    private const double MinPatienceSeconds = 1.5;
    private const double MaxPatienceSeconds = 5;

    private readonly WebApplication _application;
    private readonly IServer _server;
    private readonly Func<RpcEndpoint, RequestDelegate> _service;
    private RequestDelegate _handle = _ => Task.CompletedTask;
    private readonly HttpConnections _connections;

    // Whether a handler that blocks its thread keeps Kestrel from reading the connection. HTTP/2 runs
    // requests on other threads. Under TLS, only reading detects that a client has disconnected.
    private readonly bool _isInline;
    private volatile bool _stopping;

    private KestrelEndpoint(
        RpcEndpoint endpoint,
        ServerHost host,
        HttpProtocols protocols,
        HttpsConnectionAdapterOptions? tls,
        Func<RpcEndpoint, RequestDelegate> service)
    {
        Endpoint = endpoint;
        _service = service;
        RpcLimits limits = host.Options.Limits;
        _connections = new HttpConnections(limits);
        _isInline = tls is null && protocols == HttpProtocols.Http1;
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().UseKestrelHttpsConfiguration();
        builder.Services.AddSingleton<IConnectionListenerFactory>(services =>
            ActivatorUtilities.CreateInstance<SparingSockets>(
                services, new Action(() => host.Monitor.ReportHandleShortage(Endpoint))));
        builder.Services.Configure<SocketTransportOptions>(sockets =>
        {
            sockets.CreateBoundListenSocket = place => place is UnixDomainSocketEndPoint path
                ? OwnerSocket.Bind(endpoint, path)
                : SocketTransportOptions.CreateDefaultBoundListenSocket(place);

            // A request is read, handled and answered by the thread that received it. Kestrel would pass it
            // on twice, which takes longer than handling it.
            sockets.UnsafePreferInlineScheduling = _isInline;

            // A buffer for each open connection, of 4 KiB, saves a system call for each request.
            sockets.WaitForDataBeforeAllocatingBuffer = !_isInline;
        });
        builder.WebHost.ConfigureKestrel(options =>
        {
            Configure(options, limits);
            Listen(options, endpoint, listen =>
            {
                listen.Protocols = protocols;

                // Before TLS: a client that never ends its handshake counts as well.
                listen.Use(_connections.Admit);
                if (tls is not null)
                {
                    tls.HandshakeTimeout = limits.BindTimeout;
                    listen.UseHttps(tls);
                }

                if (protocols.HasFlag(HttpProtocols.Http2) && limits.MinPingInterval > TimeSpan.Zero)
                {
                    listen.Use(next => PingGuard.Watch(next, limits.MinPingInterval));
                }
            });
        });
        _application = builder.Build();
        _server = _application.Services.GetRequiredService<IServer>();
    }

    public RpcEndpoint Endpoint { get; private set; }

    public int Connections => _connections.Count;

    public long Accepted => _connections.Accepted;

    /// <summary>Binds an endpoint.</summary>
    /// <param name="endpoint">Where.</param>
    /// <param name="host">The server.</param>
    /// <param name="protocols">The versions of HTTP.</param>
    /// <param name="tls">Null for none.</param>
    /// <param name="service">Makes what handles the requests, when the endpoint as bound is known.</param>
    /// <exception cref="RpcException">It cannot be bound, and why.</exception>
    public static KestrelEndpoint Start(
        RpcEndpoint endpoint,
        ServerHost host,
        HttpProtocols protocols,
        HttpsConnectionAdapterOptions? tls,
        Func<RpcEndpoint, RequestDelegate> service)
    {
        NativeLimits.Check(host.Options.Limits);
        KestrelEndpoint? kestrel = null;
        try
        {
            kestrel = new KestrelEndpoint(endpoint, host, protocols, tls, service);
            kestrel.Start();
            return kestrel;
        }
        catch (ArgumentOutOfRangeException e) when (!endpoint.Kind.HasPort)
        {
            kestrel?.Release();
            throw OwnerSocket.TooLong(endpoint, e);
        }
        catch (Exception e) when (SocketErrorOf(e) is { } error)
        {
            kestrel?.Release();
            throw EndpointErrors.CannotListen(endpoint, error);
        }
        catch
        {
            kestrel?.Release();
            throw;
        }
    }

    public async Task StopAsync(TimeSpan drain)
    {
        _stopping = true;
        using CancellationTokenSource ends = new();
        ends.CancelAfter(drain == Timeout.InfiniteTimeSpan ? drain : drain + Grace);
        try
        {
            await _server.StopAsync(ends.Token).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            // The time was up, and Kestrel has aborted what was left.
        }

        await _application.DisposeAsync().ConfigureAwait(false);
        _connections.Dispose();
    }

    private static void Configure(KestrelServerOptions options, RpcLimits limits)
    {
        options.AddServerHeader = false;
        options.RequestHeaderEncodingSelector = HttpFraming.DecoderOf!;
        options.Limits.MaxRequestBodySize = limits.MaxMessageBytes;
        options.Limits.MaxRequestHeadersTotalSize = limits.MaxHeaderBytes;
        options.Limits.MaxRequestHeaderCount = limits.MaxHeaders;
        options.Limits.Http2.MaxRequestHeaderFieldSize = limits.MaxHeaderBytes;
        options.Limits.Http2.MaxStreamsPerConnection = limits.MaxStreamsPerConnection;
        options.Limits.RequestHeadersTimeout = limits.BindTimeout;
        options.Limits.KeepAliveTimeout = limits.IdleTimeout;
        options.Limits.MinRequestBodyDataRate =
            new MinDataRate(MinBytesPerSecond, Patience(limits.FragmentTimeout));
    }

    // Kestrel looks once a second.
    private static TimeSpan Patience(TimeSpan timeout) => TimeSpan.FromSeconds(
        timeout == Timeout.InfiniteTimeSpan
            ? MaxPatienceSeconds
            : Math.Clamp(timeout.TotalSeconds, MinPatienceSeconds, MaxPatienceSeconds));

    private static void Listen(
        KestrelServerOptions options, RpcEndpoint endpoint, Action<ListenOptions> configure)
    {
        (string host, int port) = (endpoint.Host, endpoint.Port);
        if (!endpoint.Kind.HasPort)
        {
            options.ListenUnixSocket(endpoint.SocketPath, configure);
        }
        else if (host is "*" or "+")
        {
            options.ListenAnyIP(port, configure);
        }
        else if (host.Equals("localhost", StringComparison.OrdinalIgnoreCase) && port != 0)
        {
            options.ListenLocalhost(port, configure);
        }
        else
        {
            options.Listen(new IPEndPoint(TcpTransport.ListenAddress(host), port), configure);
        }
    }

    private static SocketException? SocketErrorOf(Exception error) => error switch
    {
        SocketException socket => socket,
        AddressInUseException => new SocketException((int)SocketError.AddressAlreadyInUse),
        { InnerException: { } inner } => SocketErrorOf(inner),
        _ => null,
    };

    private void Start()
    {
        // The requests that come before the service is there wait for it.
        TaskCompletionSource<RequestDelegate> ready = new(TaskCreationOptions.RunContinuationsAsynchronously);
        _handle = async http => await (await ready.Task.ConfigureAwait(false))(http).ConfigureAwait(false);
        _server.StartAsync(new KestrelApplication(HandleAsync), CancellationToken.None)
            .GetAwaiter().GetResult();
        string address = _server.Features.GetRequiredFeature<IServerAddressesFeature>().Addresses.First();
        if (Endpoint.Kind.HasPort)
        {
            Endpoint = Endpoint.WithPort(BindingAddress.Parse(address).Port);
        }

        _handle = _service(Endpoint);
        ready.SetResult(_handle);
    }

    private void Release()
    {
        _application.DisposeAsync().AsTask().GetAwaiter().GetResult();
        _connections.Dispose();
    }

    private async Task HandleAsync(HttpContext http)
    {
        HttpConnection connection = HttpConnection.Of(http);
        if (!connection.TryBegin(_isInline ? http : null))
        {
            // It is being closed, and its client will send the request on another one.
            http.Abort();
            return;
        }

        try
        {
            await RespondAsync(http).ConfigureAwait(false);
        }
        finally
        {
            connection.End();
        }
    }

    private Task RespondAsync(HttpContext http) =>
        _stopping ? StoppingReply.SendAsync(http) : _handle(http);
}

/// <summary>Hands Kestrel's requests to one handler, without the middleware,
/// routing and services of a web host.</summary>
internal sealed class KestrelApplication(RequestDelegate handle) : IHttpApplication<DefaultHttpContext>
{
    public DefaultHttpContext CreateContext(IFeatureCollection contextFeatures)
    {
        // A connection keeps its context from request to request.
        if (contextFeatures is IHostContextContainer<DefaultHttpContext> container)
        {
            container.HostContext ??= new DefaultHttpContext();
            container.HostContext.Initialize(contextFeatures);
            return container.HostContext;
        }

        return new DefaultHttpContext(contextFeatures);
    }

    public Task ProcessRequestAsync(DefaultHttpContext context) => handle(context);

    public void DisposeContext(DefaultHttpContext context, Exception? exception) => context.Uninitialize();
}

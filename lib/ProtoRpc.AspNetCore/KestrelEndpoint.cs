using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Abstractions;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using ProtoRpc.AspNetCore.Http;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Security;
using ProtoRpc.Server;
using ProtoRpc.Transports;

namespace ProtoRpc.AspNetCore;

/// <summary>A bound HTTP endpoint: Kestrel with ProtoRpc's limits, and without the host features that read
/// settings, write logs, or handle signals.</summary>
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

    // Whether an HTTP/1.1 handler that blocks its thread prevents Kestrel from reading the connection. HTTP/2
    // runs requests on other threads. With TLS, only reading detects that a client has disconnected.
    private readonly bool _isInline;
    private volatile bool _stopping;

    private KestrelEndpoint(
        RpcEndpoint endpoint,
        ServerHost host,
        Func<HttpProtocols> versions,
        HttpsConnectionAdapterOptions? tls,
        Func<RpcEndpoint, RequestDelegate> service)
    {
        Endpoint = endpoint;
        _service = service;
        RpcLimits limits = host.Options.Limits;
        _connections = new HttpConnections(limits);

        // Decided once: an HTTP endpoint that later joins a gRPC endpoint keeps the scheduling of gRPC.
        _isInline = tls is null && versions().HasFlag(HttpProtocols.Http1);
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().UseKestrelHttpsConfiguration();
        builder.Services.AddSingleton<IConnectionListenerFactory>(services =>
            ActivatorUtilities.CreateInstance<SpareHandleSockets>(
                services, new Action(() => host.Monitor.ReportHandleShortage(Endpoint))));
        builder.Services.AddSingleton<IConnectionListenerFactory, UnreachableListeners>();
        AllowedAccounts? allowed = AllowedAccounts.Resolve(endpoint, host.Options.Security);
        builder.Services.Configure<SocketTransportOptions>(sockets =>
        {
            sockets.CreateBoundListenSocket = place => place is UnixDomainSocketEndPoint path
                ? UnixSocket.Bind(endpoint, path, allowed)
                : SocketTransportOptions.CreateDefaultBoundListenSocket(place);

            // The thread that receives a request also runs the handler and sends the reply. Kestrel would
            // change threads twice, which takes longer than the handler.
            sockets.UnsafePreferInlineScheduling = _isInline;

            // A buffer of 4 KiB for each open connection saves a system call for each request.
            sockets.WaitForDataBeforeAllocatingBuffer = !_isInline;
        });
        builder.WebHost.ConfigureKestrel(options =>
        {
            Configure(options, limits);
            if (tls is null)
            {
                ListenInClear(options, endpoint, limits, versions);
            }
            else
            {
                ListenByTls(options, endpoint, limits, versions(), tls);
            }
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
    /// <param name="versions">Returns the versions of HTTP of new connections. With TLS, those at the start
    /// stay.</param>
    /// <param name="tls">Null for none.</param>
    /// <param name="service">Creates the handler of requests, when the bound endpoint is known.</param>
    /// <exception cref="RpcException">The endpoint cannot be bound; the message contains the
    /// reason.</exception>
    public static KestrelEndpoint Start(
        RpcEndpoint endpoint,
        ServerHost host,
        Func<HttpProtocols> versions,
        HttpsConnectionAdapterOptions? tls,
        Func<RpcEndpoint, RequestDelegate> service)
    {
        NativeLimits.Check(host.Options.Limits);
        KestrelEndpoint? kestrel = null;
        try
        {
            kestrel = new KestrelEndpoint(endpoint, host, versions, tls, service);
            kestrel.Start();
            return kestrel;
        }
        catch (ArgumentOutOfRangeException e) when (!endpoint.Kind.HasPort)
        {
            kestrel?.Release();
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.EndpointNameTooLong,
                $"'{endpoint}' cannot be used here: {e.Message} Use a shorter path.", endpoint, e);
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
            // The drain time has passed, and Kestrel aborts the remaining connections.
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

    // Kestrel checks the data rate once a second.
    private static TimeSpan Patience(TimeSpan timeout) => TimeSpan.FromSeconds(
        timeout == Timeout.InfiniteTimeSpan
            ? MaxPatienceSeconds
            : Math.Clamp(timeout.TotalSeconds, MinPatienceSeconds, MaxPatienceSeconds));

    private void ListenInClear(
        KestrelServerOptions options, RpcEndpoint endpoint, RpcLimits limits, Func<HttpProtocols> versions)
    {
        PrefaceSwitch version = new(versions);
        version.AddHttp2(options, limits.MinPingInterval);
        Listen(options, endpoint, listen =>
        {
            listen.Protocols = HttpProtocols.Http1;

            // First in the pipeline, so that clients that send an incomplete preface count as connections.
            listen.Use(_connections.Admit);
            listen.Use(version.Select);
        });
    }

    private void ListenByTls(
        KestrelServerOptions options, RpcEndpoint endpoint, RpcLimits limits, HttpProtocols versions,
        HttpsConnectionAdapterOptions tls) => Listen(options, endpoint, listen =>
        {
            listen.Protocols = versions;

            // Before TLS, so that clients that never complete the handshake count as connections.
            listen.Use(_connections.Admit);
            tls.HandshakeTimeout = limits.BindTimeout;
            listen.UseHttps(tls);
            if (versions.HasFlag(HttpProtocols.Http2) && limits.MinPingInterval > TimeSpan.Zero)
            {
                listen.Use(next => PingGuard.Watch(next, limits.MinPingInterval));
            }
        });

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
        // Requests that arrive before the service is created wait for it.
        TaskCompletionSource<RequestDelegate> ready = new(TaskCreationOptions.RunContinuationsAsynchronously);
        _handle = async http => await (await ready.Task.ConfigureAwait(false))(http).ConfigureAwait(false);
        _server.StartAsync(new KestrelApplication(HandleAsync), CancellationToken.None)
            .GetAwaiter().GetResult();

        // The first address may be the one of UnreachableEndPoint.
        string address = _server.Features.GetRequiredFeature<IServerAddressesFeature>().Addresses.Last();
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
        HttpConnection connection = HttpConnection.From(http);
        if (!connection.TryBegin(_isInline && !HttpProtocol.IsHttp2(http.Request.Protocol) ? http : null))
        {
            // The connection is closing. Its client sends the request again on another connection.
            http.Abort();
            return;
        }

        try
        {
            await (_stopping ? ShutdownRefusal.SendAsync(http) : _handle(http)).ConfigureAwait(false);
        }
        finally
        {
            connection.End();
        }
    }
}

/// <summary>Hands Kestrel's requests to one handler, without the middleware,
/// routing and services of a web host.</summary>
internal sealed class KestrelApplication(RequestDelegate handle) : IHttpApplication<DefaultHttpContext>
{
    public DefaultHttpContext CreateContext(IFeatureCollection contextFeatures)
    {
        // A connection reuses its context for all requests.
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

/// <summary>Kestrel's sockets, but a connection that uses one of the last file handles is closed. Without
/// free handles, .NET ends the process, and Kestrel's accept loop retries without a pause.</summary>
/// <remarks>The loop of the listener closes it before the next accept. A middleware would be too late: it
/// runs on other threads, and Kestrel accepts hundreds of connections meanwhile.</remarks>
/// <param name="options">Kestrel's options of sockets.</param>
/// <param name="log">Kestrel's log.</param>
/// <param name="closed">Called for each connection that is closed.</param>
internal sealed class SpareHandleSockets(
    IOptions<SocketTransportOptions> options, ILoggerFactory log, Action closed)
    : IConnectionListenerFactory, IConnectionListenerFactorySelector
{
    private readonly SocketTransportFactory _sockets = new(options, log);

    public bool CanBind(EndPoint endpoint) => _sockets.CanBind(endpoint);

    public async ValueTask<IConnectionListener> BindAsync(
        EndPoint endpoint, CancellationToken cancellationToken = default) =>
        new Listener(await _sockets.BindAsync(endpoint, cancellationToken).ConfigureAwait(false), closed);

    private sealed class Listener(IConnectionListener sockets, Action closed) : IConnectionListener
    {
        public EndPoint EndPoint => sockets.EndPoint;

        public async ValueTask<ConnectionContext?> AcceptAsync(CancellationToken cancellationToken = default)
        {
            while (true)
            {
                ConnectionContext? accepted =
                    await sockets.AcceptAsync(cancellationToken).ConfigureAwait(false);
                if (accepted?.Features.Get<IConnectionSocketFeature>() is not { } feature
                    || SpareHandles.AreLeftBy(feature.Socket))
                {
                    return accepted;
                }

                accepted.Abort(new ConnectionAbortedException("The process has no file handle to spare."));
                await accepted.DisposeAsync().ConfigureAwait(false);
                closed();
            }
        }

        public ValueTask UnbindAsync(CancellationToken cancellationToken = default) =>
            sockets.UnbindAsync(cancellationToken);

        public ValueTask DisposeAsync() => sockets.DisposeAsync();
    }
}

/// <summary>Unix sockets at a path that the user chose, open to their owner and to the accounts that he
/// allows.</summary>
internal static class UnixSocket
{
    /// <summary>Binds a socket. The socket file of an ended process is replaced.</summary>
    /// <exception cref="RpcException">AlreadyExists: another server listens on the socket, or the path is
    /// another file. PermissionDenied: other accounts can change the folder of a socket that they can
    /// use.</exception>
    public static Socket Bind(
        RpcEndpoint endpoint, UnixDomainSocketEndPoint path, AllowedAccounts? allowed)
    {
        if (allowed is not null && !OperatingSystem.IsWindows())
        {
            SharedSocketDirectory.RequireSafe(endpoint, endpoint.SocketPath);
        }

        RemoveDead(endpoint, path);
        Socket socket = NewSocket();
        try
        {
            socket.Bind(path);
            if (!OperatingSystem.IsWindows())
            {
                // No client can connect in between, because the socket does not listen yet.
                SharedSocketDirectory.Open(endpoint.SocketPath, allowed);
            }

            return socket;
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    private static Socket NewSocket() => new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);

    // The socket file of an ended process still exists, but rejects connections.
    private static void RemoveDead(RpcEndpoint endpoint, UnixDomainSocketEndPoint path)
    {
        if (!File.Exists(endpoint.SocketPath))
        {
            return;
        }

        using Socket probe = NewSocket();
        try
        {
            // Outside Windows, connecting to a Unix socket completes immediately, except if its backlog is
            // full: a blocking call would wait then.
            probe.Blocking = OperatingSystem.IsWindows();
            probe.Connect(path);
        }
        catch (SocketException e)
            when (e.SocketErrorCode == SocketError.ConnectionRefused && IsSocket(endpoint.SocketPath))
        {
            File.Delete(endpoint.SocketPath);
            return;
        }
        catch (SocketException)
        {
            // Binding will report the error.
        }

        throw EndpointErrors.InUse(endpoint);
    }

    // Connecting to a regular file also fails, but the file must not be deleted. A socket cannot be opened as
    // a file.
    private static bool IsSocket(string path)
    {
        try
        {
            File.OpenHandle(path).Dispose();
            return false;
        }
        catch (IOException)
        {
            return true;
        }
    }
}

/// <summary>Refuses requests that arrive over open connections while their endpoint stops.</summary>
internal static class ShutdownRefusal
{
    // RFC 9113, section 8.7: the request was not processed, so clients may send it again.
    private const int RefusedStream = 0x7;

    // "code" and "message" are for clients of the Connect protocol, "error_text" for those of ProtoRpc.
    private static readonly byte[] Body =
        """
        {"code":"unavailable","message":"The server is stopping; the call did not run.",
        "error_text":"The server is stopping; the call did not run."}
        """u8.ToArray();

    /// <summary>Refuses a request: HTTP/2 has a code for it that clients understand as not executed, other
    /// versions get the status 503.</summary>
    public static async Task SendAsync(HttpContext http)
    {
        bool isHttp2 = HttpProtocol.IsHttp2(http.Request.Protocol);
        if (isHttp2 && http.Features.Get<IHttpResetFeature>() is { } stream)
        {
            stream.Reset(RefusedStream);
            return;
        }

        HttpResponse reply = http.Response;
        reply.StatusCode = StatusCodes.Status503ServiceUnavailable;
        if (HttpProtocol.IsHttp11(http.Request.Protocol))
        {
            reply.Headers.Connection = "close";
        }

        reply.ContentType = "application/json";
        reply.ContentLength = Body.Length;
        await reply.Body.WriteAsync(Body, http.RequestAborted).ConfigureAwait(false);
    }
}

using System.Net;
using System.Net.Sockets;
using ProtoRpc.Security;
using ProtoRpc.Transports.Tls;

namespace ProtoRpc.Transports.Http;

/// <summary>Creates HTTP clients, which reuse connections.</summary>
internal static class HttpTransport
{
    // The body of a challenge is small. Reading it is limited, because the deadline of a call does not end
    // it.
    private const int MaxChallengeBytes = 64 * 1024;
    private const int LeastReplyHeaders = 64;
    private const long RefusedStream = 0x7;

    // The server can send a reply of this size without waiting for the client's flow control.
    private const int StreamWindowSize = 1024 * 1024;
    private static readonly TimeSpan ChallengeTimeout = TimeSpan.FromSeconds(2);

    /// <summary>Whether a host name is always this machine.</summary>
    public static bool IsLoopback(string host) => host.Equals("localhost", StringComparison.OrdinalIgnoreCase)
        || (IPAddress.TryParse(host, out IPAddress? address) && IPAddress.IsLoopback(address));

    /// <summary>The address of an endpoint, with a slash at its end and without its query.</summary>
    public static Uri AddressOf(RpcEndpoint endpoint)
    {
        string address = endpoint.HttpUri[..^QueryOf(endpoint).Length];
        return new Uri(address.EndsWith('/') ? address : address + "/");
    }

    /// <summary>The query of an endpoint's address with its question mark; empty if it has none.</summary>
    public static string QueryOf(RpcEndpoint endpoint)
    {
        int start = endpoint.Name.IndexOf('?');
        return start < 0 ? "" : endpoint.Name[start..];
    }

    /// <summary>Makes what sends requests to an endpoint.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="limits">The limits.</param>
    /// <param name="security">The client's credentials.</param>
    /// <param name="tls">The TLS settings.</param>
    /// <param name="asksCompressed">Whether the server is asked for compressed replies.</param>
    /// <param name="foreign">Makes the handler that sends them instead of sockets; null for sockets.</param>
    /// <param name="trace">Receives the requests and the replies; null for none.</param>
    /// <param name="proxies">The proxies; null for those of the environment.</param>
    /// <param name="usesHttp2">Whether requests can also be HTTP/2.</param>
    public static HttpMessageInvoker Create(
        RpcEndpoint endpoint, RpcLimits limits, RpcClientSecurity security, RpcTlsOptions tls,
        bool asksCompressed = false, Func<HttpMessageHandler>? foreign = null, RpcTrace? trace = null,
        IWebProxy? proxies = null, bool usesHttp2 = false)
    {
        if (foreign is not null)
        {
            return new HttpMessageInvoker(
                new NamingHandler(new DecompressingHandler(
                    TracingHandler.Around(new ForeignHandler(foreign()), trace, endpoint), asksCompressed)),
                disposeHandler: true);
        }

        IWebProxy proxy = proxies ?? EnvironmentProxy.Create(isGrpc: false);
        ICredentials? credentials = CredentialsOf(endpoint, security);
        SocketsHttpHandler handler = new()
        {
            AllowAutoRedirect = false,
            UseCookies = false,
            ConnectTimeout = CallClock.ForTimer(limits.ConnectTimeout),
            MaxConnectionsPerServer = limits.MaxClientConnections,
            MaxResponseHeadersLength = MaxReplyHeaders(limits),
            Proxy = proxy,
            PreAuthenticate = true,

            // The rest of an abandoned reply is discarded, because the server may send it slowly. With
            // credentials, it is read up to a limit: NTLM and Negotiate continue on the connection of a
            // challenge, whose body may arrive late. So an abandoned stream may stay open for
            // ChallengeTimeout.
            MaxResponseDrainSize = credentials is null ? 0 : MaxChallengeBytes,
            ResponseDrainTimeout = ChallengeTimeout,
            Credentials = credentials,
            EnableMultipleHttp2Connections = true,
            InitialHttp2StreamWindowSize = StreamWindowSize,
        };
        if (!endpoint.IsTls)
        {
            handler.ConnectCallback = (context, cancellation) =>
                HttpDialer.ConnectAsync(context.DnsEndPoint, limits.ConnectTimeout, cancellation);
        }

        TlsTrust trust = new(endpoint, tls);
        handler.SslOptions = trust.Options;
        DiagnosingHandler diagnosing = new(
            TracingHandler.Around(handler, trace, endpoint), endpoint, trust, tls,
            isDirect: () => IsDirect(proxy, AddressOf(endpoint)));
        return new HttpMessageInvoker(
            new NamingHandler(new DecompressingHandler(
                usesHttp2 ? Versioned(diagnosing, endpoint, credentials is not null) : diagnosing,
                asksCompressed)),
            disposeHandler: true);
    }

    /// <summary>The size of the headers and trailers of a reply that a client accepts, in KiB. Other servers
    /// send more than ProtoRpc's listeners accept, so it is at least the default of .NET's client.</summary>
    public static int MaxReplyHeaders(RpcLimits limits) => Math.Max(
        LeastReplyHeaders, (int)Math.Min(int.MaxValue / 1024, (limits.MaxHeaderBytes + 1023L) / 1024));

    /// <summary>The exception for an error before a reply arrived.</summary>
    /// <param name="endpoint">The server.</param>
    /// <param name="error">The exception of the HTTP client.</param>
    /// <param name="sent">Whether the server may have received the request.</param>
    public static RpcException Failure(RpcEndpoint endpoint, HttpRequestException error, bool sent)
    {
        if (error.InnerException is RpcException known)
        {
            return known;
        }

        if (error.HttpRequestError is HttpRequestError.ConnectionError or HttpRequestError.NameResolutionError
            or HttpRequestError.ProxyTunnelError)
        {
            return EndpointErrors.CannotConnect(endpoint, SocketErrorOf(error) ?? (Exception)error);
        }

        if (error.HttpRequestError == HttpRequestError.ConfigurationLimitExceeded)
        {
            return CallErrors.TooManyHeaders(endpoint, error);
        }

        bool isOther = error.HttpRequestError is HttpRequestError.InvalidResponse;
        string how = error.HttpRequestError == HttpRequestError.ResponseEnded
            ? "the server closed the connection before it replied."
            : Innermost(error).Message;
        return new RpcException(
            RpcStatusCode.Unavailable,
            isOther
                ? $"'{endpoint}' answers, but not in HTTP. Check the port; for a TLS port, use "
                    + $"{endpoint.Kind.SchemeWith(tls: true)}://."
                : $"The connection to '{endpoint}' broke: {how}",
            error)
        {
            Endpoint = endpoint,
            MayHaveExecuted = sent && !isOther && !IsRefused(error),
        };
    }

    private static HttpVersionHandler Versioned(
        DiagnosingHandler inner, RpcEndpoint endpoint, bool hasCredentials)
    {
        HttpVersionHandler versioned = new(inner, endpoint, endpoint.IsTls && !hasCredentials);
        inner.Found = versioned.Remember;
        return versioned;
    }

    // An unencrypted password is sent only on this machine; NTLM and Kerberos do not send it.
    private static ICredentials? CredentialsOf(RpcEndpoint endpoint, RpcClientSecurity security)
    {
        NetworkCredential? user = security.Authentication switch
        {
            RpcClientAuthentication.Self => CredentialCache.DefaultNetworkCredentials,
            RpcClientAuthentication.User => security.Credential,
            _ => null,
        };
        if (user is null)
        {
            return null;
        }

        bool isSelf = security.Authentication == RpcClientAuthentication.Self;
        string[] ofMechanisms = [.. SecurityMechanisms.All.Select(row => row.HttpScheme).OfType<string>()];
        string[] schemes = security.Mechanism switch
        {
            not RpcMechanism.Default =>
            [
                SecurityMechanisms.Get(security.Mechanism, default).HttpScheme
                    ?? throw new RpcException(
                        RpcStatusCode.Unimplemented, RpcErrorIds.InvalidSecurity,
                        $"'{endpoint}' does not support Kerberos alone, because HTTP has no scheme for it. "
                        + "Use Negotiate, which selects Kerberos.", endpoint),
            ],
            _ when isSelf => ofMechanisms,
            _ when endpoint.IsTls || IsLoopback(endpoint.Host) => [.. ofMechanisms, "Digest", "Basic"],
            _ => [.. ofMechanisms, "Digest"],
        };
        CredentialCache cache = [];
        Uri address = AddressOf(endpoint);
        Array.ForEach(schemes, scheme => cache.Add(address, scheme, user));
        return cache;
    }

    // The proxy of Windows only reports a direct connection when it is asked for an address.
    private static bool IsDirect(IWebProxy proxy, Uri address) =>
        proxy.IsBypassed(address) || proxy.GetProxy(address) is null;

    private static SocketException? SocketErrorOf(Exception error) =>
        error as SocketException ?? (error.InnerException is { } inner ? SocketErrorOf(inner) : null);

    // REFUSED_STREAM: the server has not processed the request (RFC 9113, section 8.7).
    private static bool IsRefused(Exception error) =>
        error is HttpProtocolException { ErrorCode: RefusedStream }
        || (error.InnerException is { } inner && IsRefused(inner));

    private static Exception Innermost(Exception error) =>
        error.InnerException is { } inner ? Innermost(inner) : error;
}

/// <summary>Makes the TCP connections of HTTP without TLS.</summary>
internal static class HttpDialer
{
    /// <summary>Connects to a server, or to the proxy before it, on a thread of its own.</summary>
    /// <remarks>A blocking connect, because the ConnectAsync that the HTTP client uses makes the socket
    /// non-blocking for good. A blocking call would then wait for the runtime's event loop, which receives
    /// the reply and wakes the caller, and takes up to half as much processor time again.</remarks>
    /// <param name="address">The server, or the proxy.</param>
    /// <param name="timeout">The time to connect; InfiniteTimeSpan for no limit.</param>
    /// <param name="cancellation">Ends the try.</param>
    /// <exception cref="SocketException">There is no such host, or no address accepts.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled, or the time is over.</exception>
    public static async ValueTask<Stream> ConnectAsync(
        DnsEndPoint address, TimeSpan timeout, CancellationToken cancellation)
    {
        CallClock clock = CallClock.Start(timeout, cancellation);
        try
        {
            IPAddress[] addresses = await HostLookup.FindAsync(address.Host, HostLookup.Find, cancellation)
                .ConfigureAwait(false);
            Socket socket = await Task.Factory.StartNew(
                () => TcpTransport.Dial(addresses, address.Port, clock), CancellationToken.None,
                TaskCreationOptions.LongRunning, TaskScheduler.Default)
                .ConfigureAwait(false);
            socket.NoDelay = true;
            return new BlockingSocketStream(socket);
        }
        catch (Exception e) when (cancellation.IsCancellationRequested)
        {
            // The HTTP client recognizes its own connect timeout by this token.
            throw new OperationCanceledException(e.Message, e, cancellation);
        }
    }
}

/// <summary>A connection of HTTP/1.1 whose socket stays blocking as long as only blocking calls use
/// it.</summary>
/// <remarks>The HTTP client begins an asynchronous read on a connection that rests, also between blocking
/// calls, to notice that the server closes it. A thread does this read, because an asynchronous one would
/// make the socket non-blocking for good. The client closes a connection that rests for a minute, so that the
/// thread then ends.</remarks>
internal sealed class BlockingSocketStream(Socket socket) : NetworkStream(socket, ownsSocket: true)
{
    private volatile bool _isBlocking;

    public override void Write(ReadOnlySpan<byte> buffer)
    {
        // On Windows, asynchronous reads do not make the socket non-blocking, and closing it does not end a
        // Poll.
        _isBlocking = !OperatingSystem.IsWindows();
        base.Write(buffer);
    }

    public override ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken)
    {
        _isBlocking = false;
        return base.WriteAsync(buffer, cancellationToken);
    }

    public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken) =>
        _isBlocking
            ? new(Task.Factory.StartNew(
                () => Receive(buffer), cancellationToken, TaskCreationOptions.LongRunning,
                TaskScheduler.Default))
            : base.ReadAsync(buffer, cancellationToken);

    // The thread waits before it reads. An asynchronous call may make the socket non-blocking at any time,
    // and .NET takes what a read then finds, no bytes yet, for the end of a timeout. A read into an empty
    // buffer waits for the first bytes and does not consume them.
    private int Receive(Memory<byte> buffer)
    {
        Socket.Poll(Timeout.InfiniteTimeSpan, SelectMode.SelectRead);
        return buffer.IsEmpty ? 0 : Read(buffer.Span);
    }
}

/// <summary>A custom handler. Most of them have no blocking form.</summary>
internal sealed class ForeignHandler(HttpMessageHandler inner) : DelegatingHandler(inner)
{
    protected override HttpResponseMessage Send(
        HttpRequestMessage request, CancellationToken cancellationToken) =>
        SendAsync(request, cancellationToken).GetAwaiter().GetResult();
}

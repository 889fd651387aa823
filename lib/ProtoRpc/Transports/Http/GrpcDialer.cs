using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Transports.Tls;

namespace ProtoRpc.Transports.Http;

/// <summary>Creates connections for HTTP/2: TCP, possibly through a proxy, or a Unix socket, with TLS if the
/// endpoint uses it.</summary>
internal static class GrpcDialer
{
    /// <summary>Connects to a server, with the TLS handshake if the endpoint uses TLS.</summary>
    /// <param name="endpoint">The server.</param>
    /// <param name="tls">The TLS settings.</param>
    /// <param name="proxies">The proxies; null for those of the environment.</param>
    /// <param name="timeout">The time for connecting, and again for the server's first bytes.</param>
    /// <param name="refused">Receives the error of a server that later turns out to use another protocol, or
    /// to reject the client.</param>
    /// <param name="greetings">Counts the connections on which the server has spoken.</param>
    /// <param name="cancellation">Ends the try.</param>
    /// <param name="lookUp">Finds the addresses of a host name; null to ask the system.</param>
    /// <param name="checkServer">Checks who listens on a Unix socket; null for no check.</param>
    /// <exception cref="RpcException">Unavailable, DeadlineExceeded or Cancelled, with the
    /// reason.</exception>
    public static async Task<DialedConnection> DialAsync(
        RpcEndpoint endpoint,
        RpcTlsOptions tls,
        IWebProxy? proxies,
        TimeSpan timeout,
        Action<RpcException> refused,
        ServerGreetings greetings,
        CancellationToken cancellation,
        Func<string, IPAddress[]>? lookUp = null,
        Action<Socket>? checkServer = null)
    {
        using CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        end.CancelAfter(timeout);
        ProxyRoute? proxy = ProxyTunnel.Find(endpoint, proxies);
        Socket? socket = null;
        try
        {
            socket = await ConnectAsync(endpoint, proxy, lookUp ?? HostLookup.Find, end.Token)
                .ConfigureAwait(false);
            if (endpoint.Has(EndpointFeatures.KnowsServer))
            {
                checkServer?.Invoke(socket);
            }

            Stream stream = new NetworkStream(socket, ownsSocket: true);
            if (proxy is not null)
            {
                stream = await ProxyTunnel.OpenAsync(stream, proxy, endpoint, end.Token)
                    .ConfigureAwait(false);
            }

            PeerGreeting expected = endpoint.IsTls ? PeerGreeting.Tls : PeerGreeting.Http2;
            GreetingCheckStream greeted = new(
                stream, endpoint, expected, timeout, refused, endpoint.IsTls ? null : greetings,
                isDirect: proxy is null);
            return new DialedConnection(socket, endpoint.IsTls
                ? await ShakeHandsAsync(
                    new AwaitedSslStream(greeted, endpoint, tls, timeout, refused, greetings), end.Token)
                    .ConfigureAwait(false)
                : greeted);
        }
        catch (Exception e)
        {
            socket?.Dispose();
            throw Explain(e, endpoint, proxy, timeout, cancellation);
        }
    }

    private static RpcException Explain(
        Exception exception, RpcEndpoint endpoint, ProxyRoute? proxy, TimeSpan timeout,
        CancellationToken cancellation) => exception switch
        {
            RpcException known => known,
            SocketException e when proxy is not null => ProxyTunnel.CannotReach(proxy, endpoint, e),
            OperationCanceledException e when proxy is not null && !cancellation.IsCancellationRequested =>
                ProxyTunnel.TimedOut(proxy, endpoint, timeout, e),
            SocketException e => EndpointErrors.CannotConnect(endpoint, e),
            OperationCanceledException e =>
                EndpointErrors.ConnectGivenUp(endpoint, timeout, e, cancellation),
            _ => EndpointErrors.CannotConnect(endpoint, exception),
        };

    private static async Task<Socket> ConnectAsync(
        RpcEndpoint endpoint, ProxyRoute? proxy, Func<string, IPAddress[]> lookUp,
        CancellationToken cancellation)
    {
        bool local = !endpoint.Kind.HasPort;
        Socket socket = local
            ? new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified)
            : new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        try
        {
            if (local)
            {
                await socket.ConnectAsync(SocketAddress(endpoint), cancellation).ConfigureAwait(false);
            }
            else
            {
                (string host, int port) = proxy is null
                    ? (endpoint.Host, endpoint.Port)
                    : (proxy.Address.IdnHost, proxy.Address.Port);
                IPAddress[] addresses = await HostLookup.FindAsync(host, lookUp, cancellation)
                    .ConfigureAwait(false);
                await socket.ConnectAsync(addresses, port, cancellation).ConfigureAwait(false);
            }

            return socket;
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    private static UnixDomainSocketEndPoint SocketAddress(RpcEndpoint endpoint)
    {
        if (endpoint.IsAbstractSocket && !OperatingSystem.IsLinux())
        {
            throw EndpointErrors.NeedsLinux(endpoint);
        }

        if (!endpoint.IsAbstractSocket && !File.Exists(endpoint.SocketPath))
        {
            throw new RpcException(
                RpcStatusCode.Unavailable,
                $"Cannot connect to '{endpoint}': there is no socket '{endpoint.SocketPath}', or this "
                + "account may not enter its folder. Start the server, or check the path and the folder.",
                endpoint);
        }

        try
        {
            // The name of a Linux abstract socket begins with a zero byte: unix(7).
            return new UnixDomainSocketEndPoint(
                endpoint.IsAbstractSocket ? $"\0{endpoint.Name[1..]}" : endpoint.SocketPath);
        }
        catch (ArgumentOutOfRangeException e)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.EndpointNameTooLong,
                $"The {(endpoint.IsAbstractSocket ? "name" : "path")} of '{endpoint}' is too long for a Unix "
                + "socket.", endpoint, e);
        }
    }

    private static async Task<Stream> ShakeHandsAsync(
        AwaitedSslStream secured, CancellationToken cancellation)
    {
        TlsTrust trust = new(secured.Endpoint, secured.Tls, SslApplicationProtocol.Http2);
        await trust.JudgeAsync(() => secured.AuthenticateAsClientAsync(trust.Options, cancellation))
            .ConfigureAwait(false);
        return secured.NegotiatedApplicationProtocol == SslApplicationProtocol.Http2
            ? secured
            : throw WrongProtocolErrors.NoHttp2(secured.Endpoint);
    }
}

/// <summary>TLS to a server that must say something soon after the handshake. In TLS 1.3, a server rejects a
/// missing client certificate only then.</summary>
/// <param name="inner">The connection.</param>
/// <param name="endpoint">The server.</param>
/// <param name="tls">The TLS settings.</param>
/// <param name="patience">How long the server may take for its first bytes.</param>
/// <param name="refused">Receives the errors, like the parameter of <see
/// cref="GreetingCheckStream"/>.</param>
/// <param name="greetings">Counts the connections on which the server has spoken.</param>
// Derived from SslStream, because the HTTP client would begin a TLS handshake over any other stream.
internal sealed class AwaitedSslStream(
    Stream inner, RpcEndpoint endpoint, RpcTlsOptions tls, TimeSpan patience, Action<RpcException> refused,
    ServerGreetings greetings)
    : SslStream(inner)
{
    private bool _hasHeard;
    private int _greeting;

    public RpcEndpoint Endpoint => endpoint;

    public RpcTlsOptions Tls => tls;

    public override ValueTask<int> ReadAsync(
        Memory<byte> buffer, CancellationToken cancellationToken = default) =>
        _hasHeard ? base.ReadAsync(buffer, cancellationToken) : ReadFirstAsync(buffer, cancellationToken);

    protected override void Dispose(bool disposing)
    {
        greetings.End(ref _greeting);
        base.Dispose(disposing);
    }

    private async ValueTask<int> ReadFirstAsync(Memory<byte> buffer, CancellationToken cancellationToken)
    {
        using CancellationTokenSource end =
            CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        end.CancelAfter(patience);
        try
        {
            // A read into an empty buffer waits for the first bytes, or for the end of the stream.
            int count = await base.ReadAsync(buffer, end.Token).ConfigureAwait(false);
            if (count > 0)
            {
                _hasHeard = true;
                greetings.Begin(ref _greeting);
            }

            return _hasHeard || buffer.IsEmpty
                ? count
                : throw Refuse(TlsErrors.HungUp(endpoint, tls, mayHaveExecuted: false, null));
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            throw Refuse(WrongProtocolErrors.Silent(endpoint, patience));
        }
        catch (IOException e)
        {
            throw Refuse(TlsErrors.HungUp(endpoint, tls, mayHaveExecuted: false, e));
        }
    }

    private RpcException Refuse(RpcException why)
    {
        refused(why);
        return why;
    }
}

/// <summary>A connection whose first received bytes are checked, so that a server of another protocol is
/// reported immediately and by name, instead of by a later error.</summary>
/// <param name="inner">The connection.</param>
/// <param name="endpoint">For errors.</param>
/// <param name="expected">The expected protocol.</param>
/// <param name="patience">The time until the peer must have sent its first bytes.</param>
/// <param name="refused">Receives the exception, because the HTTP client loses it if the new connection has
/// no call yet.</param>
/// <param name="greetings">Counts the connections on which the server has spoken; null for a connection
/// below TLS.</param>
/// <param name="isDirect">Whether the server is reached without a proxy, so that it can be probed.</param>
internal sealed class GreetingCheckStream(
    Stream inner, RpcEndpoint endpoint, PeerGreeting expected,
    TimeSpan patience, Action<RpcException> refused, ServerGreetings? greetings, bool isDirect)
    : SequentialStream
{
    private readonly TaskCompletionSource _heard = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private bool _isListening;
    private bool _greeted;
    private int _greeting;

    // The bytes that were received with the greeting, and not read yet.
    private ReadOnlyMemory<byte> _rest;

    public override bool CanRead => true;

    public override bool CanWrite => true;

    public override ValueTask<int> ReadAsync(
        Memory<byte> buffer, CancellationToken cancellationToken = default) =>
        !_rest.IsEmpty ? new(TakeRest(buffer))
        : _greeted ? inner.ReadAsync(buffer, cancellationToken)
        : ListenAsync(buffer, cancellationToken);

    public override Task<int> ReadAsync(
        byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        ReadAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    public override int Read(byte[] buffer, int offset, int count) =>
        ReadAsync(buffer.AsMemory(offset, count)).AsTask().GetAwaiter().GetResult();

    public override ValueTask WriteAsync(
        ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default) =>
        _greeted ? inner.WriteAsync(buffer, cancellationToken) : WriteFirstAsync(buffer, cancellationToken);

    public override Task WriteAsync(
        byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        WriteAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    public override void Write(byte[] buffer, int offset, int count) => inner.Write(buffer, offset, count);

    public override Task FlushAsync(CancellationToken cancellationToken) =>
        inner.FlushAsync(cancellationToken);

    public override void Flush() => inner.Flush();

    protected override void Dispose(bool disposing)
    {
        if (disposing)
        {
            inner.Dispose();
        }

        greetings?.End(ref _greeting);
        base.Dispose(disposing);
    }

    // A server of another protocol sends an error and closes. If this write fails, the HTTP client would
    // discard the connection before the error is read.
    private async ValueTask WriteFirstAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken)
    {
        try
        {
            await inner.WriteAsync(buffer, cancellationToken).ConfigureAwait(false);
        }
        catch (IOException) when (_isListening)
        {
            await _heard.Task.ConfigureAwait(false);
            throw;
        }
    }

    private async ValueTask<int> ListenAsync(Memory<byte> buffer, CancellationToken cancellationToken)
    {
        _isListening = true;
        try
        {
            _rest = await ReadGreetingAsync(cancellationToken).ConfigureAwait(false);
            _greeted = true;
            greetings?.Begin(ref _greeting);
            return TakeRest(buffer);
        }
        finally
        {
            _heard.TrySetResult();
        }
    }

    private int TakeRest(Memory<byte> buffer)
    {
        int count = Math.Min(buffer.Length, _rest.Length);
        _rest[..count].CopyTo(buffer);
        _rest = _rest[count..];
        return count;
    }

    private async Task<ReadOnlyMemory<byte>> ReadGreetingAsync(CancellationToken cancellationToken)
    {
        using CancellationTokenSource end =
            CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        end.CancelAfter(patience);
        ReadOnlyMemory<byte> first;
        try
        {
            first = await ReadFirstAsync(end.Token).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            throw Refuse(WrongProtocolErrors.Silent(endpoint, patience));
        }
        catch (IOException e)
        {
            throw Refuse(await HungUpAsync(e, cancellationToken).ConfigureAwait(false));
        }

        if (first.IsEmpty)
        {
            throw Refuse(await HungUpAsync(null, cancellationToken).ConfigureAwait(false));
        }

        PeerGreeting greeting = PeerGreetings.Judge(first.Span);
        return greeting == expected ? first : throw Refuse(WrongProtocolErrors.WrongProtocol(
            endpoint, greeting, PeerGreetings.FirstLine(first.Span)));
    }

    // A separate buffer, because the HTTP client requests one byte less than a GOAWAY frame has.
    private async Task<ReadOnlyMemory<byte>> ReadFirstAsync(CancellationToken cancellationToken)
    {
        byte[] first = new byte[PeerGreetings.MaxLine];
        int count = 0;
        int more;
        do
        {
            more = await inner.ReadAsync(first.AsMemory(count), cancellationToken).ConfigureAwait(false);
            count += more;
        }
        while (more > 0 && PeerGreetings.GoesOn(first.AsSpan(0, count)));

        return first.AsMemory(0, count);
    }

    private RpcException Refuse(RpcException why)
    {
        refused(why);
        return why;
    }

    // A native listener closes a connection that begins with HTTP/2 or TLS, without a reply.
    private async Task<RpcException> HungUpAsync(Exception? error, CancellationToken cancellationToken)
    {
        SpokenProtocol found = isDirect
            ? await ProtocolProbe.FindAsync(endpoint, cancellationToken).ConfigureAwait(false)
            : SpokenProtocol.Unknown;
        bool isAsExpected = found == (endpoint.IsTls ? SpokenProtocol.Tls : SpokenProtocol.Http2);
        return found == SpokenProtocol.Unknown || isAsExpected
            ? WrongProtocolErrors.HungUp(endpoint, error)
            : WrongProtocolErrors.Other(endpoint, found, error);
    }
}

/// <summary>Counts the connections of a channel on which the server has sent data. If a server accepts
/// connections but sends nothing, its calls have certainly not run. Thread-safe.</summary>
internal sealed class ServerGreetings
{
    private const int Counted = 1;
    private const int Ended = 2;

    private int _all;
    private int _open;

    /// <summary>Whether other code creates the connections, so that they are not counted.</summary>
    public bool IsUnknown { get; init; }

    /// <summary>The state before a call, for <see cref="IsSilentSince"/>.</summary>
    public int Mark => IsUnknown || Volatile.Read(ref _open) > 0 ? -1 : Volatile.Read(ref _all);

    /// <summary>Whether the server has sent nothing since, on any connection.</summary>
    public bool IsSilentSince(int mark) => mark >= 0 && Volatile.Read(ref _all) == mark;

    /// <summary>A server has spoken on a connection.</summary>
    /// <param name="state">The state of the connection, which begins with 0. The connection may be disposed
    /// at the same time.</param>
    public void Begin(ref int state)
    {
        if (Interlocked.CompareExchange(ref state, Counted, 0) == 0)
        {
            Interlocked.Increment(ref _open);
        }

        Interlocked.Increment(ref _all);
    }

    /// <summary>A connection has ended.</summary>
    /// <param name="state">The state of the connection.</param>
    public void End(ref int state)
    {
        if (Interlocked.Exchange(ref state, Ended) == Counted)
        {
            Interlocked.Decrement(ref _open);
        }
    }
}

/// <summary>A connection that was created but not used yet.</summary>
/// <param name="socket">Below the stream; disposed of with it.</param>
/// <param name="stream">For HTTP.</param>
internal sealed class DialedConnection(Socket socket, Stream stream) : IDisposable
{
    // RFC 9113, section 4.1: the type follows three octets of length. A server that stops before the first
    // request sends GOAWAY.
    private const int FrameType = 3;
    private const byte GoAway = 0x7;

    /// <summary>For HTTP.</summary>
    public Stream Stream => stream;

    /// <summary>Whether the server has hung up in the meantime, so that a call over it would be lost. Under
    /// TLS a goodbye cannot be seen.</summary>
    public bool HasEnded
    {
        get
        {
            if (!socket.Poll(TimeSpan.Zero, SelectMode.SelectRead))
            {
                return false;
            }

            Span<byte> head = stackalloc byte[FrameType + 1];
            int count = socket.Receive(head, SocketFlags.Peek, out SocketError error);
            return error != SocketError.Success || count == 0
                || (stream is not SslStream && count == head.Length && head[FrameType] == GoAway);
        }
    }

    public void Dispose() => stream.Dispose();
}

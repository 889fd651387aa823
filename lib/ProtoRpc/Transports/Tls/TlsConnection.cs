using System.Net;
using System.Net.Security;

namespace ProtoRpc.Transports.Tls;

/// <summary>TLS over a connection. The thread that sends or receives the first bytes makes the handshake, so
/// that a slow peer only blocks its own connection.</summary>
internal sealed class TlsConnection : TransportConnection
{
    private const int AheadSize = 4096;

    private readonly TransportConnection _inner;
    private readonly SslStream _stream;
    private readonly Action<SslStream> _handshake;
    private readonly Func<SslStream, Task> _handshakeAsync;
    private byte[]? _ahead;
    private Task<int>? _peeking;
    private int _taken;

    private TlsConnection(
        TransportConnection inner, Action<SslStream> handshake, Func<SslStream, Task> handshakeAsync)
    {
        _inner = inner;
        _stream = new SslStream(new TransportStream(inner), leaveInnerStreamOpen: true);
        _handshake = handshake;
        _handshakeAsync = handshakeAsync;
    }

    /// <summary>A server's side.</summary>
    public static TlsConnection ForServer(TransportConnection inner, SslStreamCertificateContext certificate)
    {
        SslServerAuthenticationOptions options = new()
        {
            ServerCertificateContext = certificate,
            EnabledSslProtocols = TlsVersions.Spoken,
        };
        return new TlsConnection(
            inner, stream => stream.AuthenticateAsServer(options), stream =>
                stream.AuthenticateAsServerAsync(options));
    }

    /// <summary>A client's side.</summary>
    public static TlsConnection ForClient(TransportConnection inner, RpcEndpoint endpoint, RpcTlsOptions tls)
    {
        TlsTrust trust = new(endpoint, tls);
        return new TlsConnection(
            inner,
            stream => trust.Judge(() => stream.AuthenticateAsClient(trust.Options)),
            stream => trust.JudgeAsync(() => stream.AuthenticateAsClientAsync(trust.Options)));
    }

    public override EndPoint? RemoteEndPoint => _inner.RemoteEndPoint;

    public override int Receive(Memory<byte> buffer)
    {
        Begin();
        return _peeking is null
            ? _stream.Read(buffer.Span)
            : TakeAhead(buffer, _peeking.GetAwaiter().GetResult());
    }

    public override void Send(ReadOnlyMemory<byte> bytes)
    {
        Begin();
        _stream.Write(bytes.Span);
    }

    public override async ValueTask<int> ReceiveAsync(Memory<byte> buffer, CancellationToken cancellation)
    {
        await BeginAsync().ConfigureAwait(false);
        return _peeking is null
            ? await _stream.ReadAsync(buffer, cancellation).ConfigureAwait(false)
            : TakeAhead(buffer, await _peeking.ConfigureAwait(false));
    }

    public override async ValueTask SendAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellation)
    {
        await BeginAsync().ConfigureAwait(false);
        await _stream.WriteAsync(bytes, cancellation).ConfigureAwait(false);
    }

    public override int Peek(Span<byte> buffer)
    {
        if (_peeking is null)
        {
            Span<byte> one = stackalloc byte[1];
            int came = _inner.Peek(one);
            if (came <= 0)
            {
                return came;
            }

            // The received bytes may be an incomplete TLS record, or a record without application data. So
            // the read runs in the background, and the next receive returns its bytes.
            _ahead ??= new byte[AheadSize];
            _taken = 0;
            _peeking = _stream.ReadAsync(_ahead).AsTask();
        }

        if (!_peeking.IsCompleted)
        {
            return -1;
        }

        if (!_peeking.IsCompletedSuccessfully)
        {
            return 0;
        }

        ReadOnlySpan<byte> ahead = _ahead.AsSpan(_taken, _peeking.Result - _taken);
        ahead = ahead[..Math.Min(ahead.Length, buffer.Length)];
        ahead.CopyTo(buffer);
        return ahead.Length;
    }

    public override void TrySendNow(ReadOnlySpan<byte> bytes)
    {
        // TLS cannot send a part of a record. The end of the connection that follows tells the peer the same.
    }

    public override void FinishSending() => _inner.FinishSending();

    public override void StopReceiving() => _inner.StopReceiving();

    public override void Abort() => _inner.Abort();

    public override PeerIdentity ReadPeer() =>
        _inner.ReadPeer() with { ProtectionLevel = RpcProtectionLevel.Privacy };

    public override void Dispose()
    {
        _inner.Dispose();
        _stream.Dispose();
    }

    private void Begin()
    {
        if (!_stream.IsAuthenticated)
        {
            _handshake(_stream);
        }
    }

    private ValueTask BeginAsync() =>
        _stream.IsAuthenticated ? default : new ValueTask(_handshakeAsync(_stream));

    private int TakeAhead(Memory<byte> buffer, int count)
    {
        int size = Math.Min(count - _taken, buffer.Length);
        _ahead.AsMemory(_taken, size).CopyTo(buffer);
        _taken += size;
        if (_taken == count)
        {
            _peeking = null;
        }

        return size;
    }
}

/// <summary>A connection as a stream, for protocols above it.</summary>
internal sealed class TransportStream(TransportConnection connection) : SequentialStream
{
    public override bool CanRead => true;

    public override bool CanWrite => true;

    public override int Read(byte[] buffer, int offset, int count) =>
        connection.Receive(buffer.AsMemory(offset, count));

    public override ValueTask<int> ReadAsync(
        Memory<byte> buffer, CancellationToken cancellationToken = default) =>
        connection.ReceiveAsync(buffer, cancellationToken);

    public override void Write(byte[] buffer, int offset, int count) =>
        connection.Send(buffer.AsMemory(offset, count));

    public override ValueTask WriteAsync(
        ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default) =>
        connection.SendAsync(buffer, cancellationToken);

    public override Task FlushAsync(CancellationToken cancellationToken) => Task.CompletedTask;
}

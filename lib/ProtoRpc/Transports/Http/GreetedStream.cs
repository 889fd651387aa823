using ProtoRpc.Protocols.Grpc;

namespace ProtoRpc.Transports.Http;

/// <summary>A connection whose first incoming bytes are looked at, so that a server
/// of another protocol is reported immediately and by name, instead of by what it breaks later.</summary>
/// <param name="inner">The connection.</param>
/// <param name="endpoint">For errors.</param>
/// <param name="expected">What the server should speak.</param>
/// <param name="patience">How long it may take to say something.</param>
/// <param name="refused">Gets what is thrown, since the HTTP client forgets why a new connection was no good
/// when no call has been given to it yet.</param>
/// <param name="isDirect">Whether the server is reached without a proxy, so that it can be probed.</param>
internal sealed class GreetedStream(
    Stream inner, RpcEndpoint endpoint, PeerGreeting expected,
    TimeSpan patience, Action<RpcException> refused, bool isDirect) : SequentialStream
{
    private readonly TaskCompletionSource _heard = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private bool _isListening;
    private bool _greeted;

    // What was heard with the greeting, and not read yet.
    private ReadOnlyMemory<byte> _rest;

    public override bool CanRead => true;

    public override bool CanWrite => true;

    public override ValueTask<int> ReadAsync(
        Memory<byte> buffer, CancellationToken cancellationToken = default) =>
        !_rest.IsEmpty ? new(TakeRest(buffer))
        : _greeted || buffer.IsEmpty ? inner.ReadAsync(buffer, cancellationToken)
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

        base.Dispose(disposing);
    }

    // A server of another protocol says why and closes. If a write fails then, the HTTP client would forget
    // the connection before it has read that.
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

    // Reads into a buffer of its own: the HTTP client requests one byte less than a GOAWAY frame has.
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

    // A native listener closes a connection that begins with HTTP/2 or TLS without an answer.
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

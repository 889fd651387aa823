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
    private const int MaxLine = 80;

    private readonly TaskCompletionSource _heard = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private bool _isListening;
    private bool _greeted;

    public override bool CanRead => true;

    public override bool CanWrite => true;

    public override ValueTask<int> ReadAsync(
        Memory<byte> buffer, CancellationToken cancellationToken = default) =>
        _greeted || buffer.IsEmpty
            ? inner.ReadAsync(buffer, cancellationToken)
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
            return await ReadGreetingAsync(buffer, cancellationToken).ConfigureAwait(false);
        }
        finally
        {
            _heard.TrySetResult();
        }
    }

    private async ValueTask<int> ReadGreetingAsync(Memory<byte> buffer, CancellationToken cancellationToken)
    {
        using CancellationTokenSource end =
            CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        end.CancelAfter(patience);
        int count;
        try
        {
            count = await inner.ReadAsync(buffer, end.Token).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            throw Refuse(WrongProtocolErrors.Silent(endpoint, patience));
        }
        catch (IOException e)
        {
            throw Refuse(await HungUpAsync(e, cancellationToken).ConfigureAwait(false));
        }

        if (count == 0)
        {
            throw Refuse(await HungUpAsync(null, cancellationToken).ConfigureAwait(false));
        }

        ReadOnlyMemory<byte> first = buffer[..count];
        PeerGreeting greeting = PeerGreetings.Judge(first.Span);
        if (greeting != expected)
        {
            string line = greeting == PeerGreeting.Http1
                ? await ReadLineAsync(first, end.Token).ConfigureAwait(false)
                : "";
            throw Refuse(WrongProtocolErrors.WrongProtocol(endpoint, greeting, line));
        }

        _greeted = true;
        return count;
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

    // The reader may have requested only the few bytes of a frame's head.
    private async Task<string> ReadLineAsync(ReadOnlyMemory<byte> first, CancellationToken cancellationToken)
    {
        byte[] line = new byte[first.Length + MaxLine];
        first.CopyTo(line);
        int count = first.Length + await inner.ReadAsync(line.AsMemory(first.Length), cancellationToken)
            .ConfigureAwait(false);
        return PeerGreetings.FirstLine(line.AsSpan(0, count));
    }
}

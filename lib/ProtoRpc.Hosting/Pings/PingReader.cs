using System.Buffers;
using System.IO.Pipelines;

namespace ProtoRpc.Hosting.Pings;

/// <summary>Looks at the frames of a client on their way to Kestrel,
/// and finds the pings among them.</summary>
internal sealed class PingReader(PipeReader inner, PingGuard guard) : PipeReader
{
    private readonly PingScanner _scanner = new(guard.AddPing);
    private ReadOnlySequence<byte> _buffer;
    private long _scanned;

    public override async ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default) =>
        Scan(await inner.ReadAsync(cancellationToken).ConfigureAwait(false));

    public override bool TryRead(out ReadResult result)
    {
        if (!inner.TryRead(out result))
        {
            return false;
        }

        result = Scan(result);
        return true;
    }

    public override void AdvanceTo(SequencePosition consumed) => AdvanceTo(consumed, consumed);

    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined)
    {
        _scanned = _buffer.Slice(consumed).Length;
        _buffer = default;
        inner.AdvanceTo(consumed, examined);
    }

    public override void CancelPendingRead() => inner.CancelPendingRead();

    public override void Complete(Exception? exception = null) => inner.Complete(exception);

    private ReadResult Scan(ReadResult result)
    {
        _buffer = result.Buffer;
        _scanner.Scan(_buffer.Slice(_scanned));

        // After the farewell, what the client still sends looks like its end.
        return guard.IsOver ? new ReadResult(_buffer, result.IsCanceled, isCompleted: true) : result;
    }
}

using System.Buffers;
using System.IO.Pipelines;

namespace ProtoRpc.Hosting.Pings;

/// <summary>Counts what Kestrel sends, and adds the farewell to clients who ping too often.</summary>
internal sealed class PingWriter(PipeWriter inner, PingGuard guard) : PipeWriter
{
    // Last-Stream-ID 2^31-1, ENHANCE_YOUR_CALM, and the text that gRPC clients look for.
    private static readonly byte[] Farewell =
        [0, 0, 22, 7, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0xb, .. "too_many_pings"u8];

    public override bool CanGetUnflushedBytes => inner.CanGetUnflushedBytes;

    public override long UnflushedBytes => inner.UnflushedBytes;

    public override void Advance(int bytes)
    {
        guard.AddWritten(bytes);
        inner.Advance(bytes);
    }

    public override Memory<byte> GetMemory(int sizeHint = 0) => inner.GetMemory(sizeHint);

    public override Span<byte> GetSpan(int sizeHint = 0) => inner.GetSpan(sizeHint);

    public override ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default)
    {
        // Kestrel flushes whole frames and answers each ping with one frame. So this runs immediately after a
        // ping, and between frames.
        if (guard.HasTooMany && !guard.IsOver)
        {
            inner.Write(Farewell);
            guard.IsOver = true;
        }

        return inner.FlushAsync(cancellationToken);
    }

    public override void CancelPendingFlush() => inner.CancelPendingFlush();

    public override void Complete(Exception? exception = null) => inner.Complete(exception);
}

using System.Buffers;
using System.Buffers.Text;
using System.IO.Pipelines;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;

namespace ProtoRpc.Hosting.Grpc;

/// <summary>The body of a reply as base64, with padding at the end of each flush.</summary>
internal sealed class GrpcWebText(PipeWriter inner) : PipeWriter
{
    private const int Quantum = 4;
    private readonly ArrayBufferWriter<byte> _pending = new();

    /// <summary>Reads a whole body of base64, whose pieces may have padding of their own.</summary>
    /// <exception cref="RpcException">Internal: not base64; ResourceExhausted:
    /// longer than a message may be.</exception>
    public static async ValueTask<byte[]> ReadAsync(
        PipeReader reader, int maxBytes, RequestMemory.Share memory, CancellationToken cancellation)
    {
        long maxText = ((maxBytes + (long)GrpcFraming.PrefixLength + 2) / 3 * Quantum) + Quantum;
        while (true)
        {
            ReadResult result = await reader.ReadAsync(cancellation).ConfigureAwait(false);
            if (result.Buffer.Length > maxText)
            {
                throw GrpcDefects.TooLarge($"sent more than {maxText:N0} characters", maxBytes);
            }

            if (!memory.TryHold(result.Buffer.Length))
            {
                // Kestrel receives the rest, so that a client that still sends gets the answer.
                reader.AdvanceTo(result.Buffer.End);
                throw memory.Full();
            }

            if (result.IsCompleted)
            {
                byte[] text = result.Buffer.ToArray();
                reader.AdvanceTo(result.Buffer.End);
                return Decode(text);
            }

            reader.AdvanceTo(result.Buffer.Start, result.Buffer.End);
        }
    }

    public override void Advance(int bytes) => _pending.Advance(bytes);

    public override Memory<byte> GetMemory(int sizeHint = 0) => _pending.GetMemory(sizeHint);

    public override Span<byte> GetSpan(int sizeHint = 0) => _pending.GetSpan(sizeHint);

    public override void CancelPendingFlush() => inner.CancelPendingFlush();

    public override void Complete(Exception? exception = null) => inner.Complete(exception);

    public override ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default)
    {
        int length = Base64.GetMaxEncodedToUtf8Length(_pending.WrittenCount);
        Base64.EncodeToUtf8(_pending.WrittenSpan, inner.GetSpan(length), out _, out int written);
        inner.Advance(written);
        _pending.ResetWrittenCount();
        return inner.FlushAsync(cancellationToken);
    }

    private static byte[] Decode(ReadOnlySpan<byte> text)
    {
        byte[] bytes = new byte[Base64.GetMaxDecodedFromUtf8Length(text.Length)];
        int length = 0;
        while (text.Length > 0)
        {
            // Up to the end of the quantum with the first padding, where a piece ends.
            int padding = text.IndexOf((byte)'=');
            int end = padding < 0 ? text.Length : Math.Min(text.Length, ((padding / Quantum) + 1) * Quantum);
            OperationStatus status = Base64.DecodeFromUtf8(
                text[..end], bytes.AsSpan(length), out _, out int written);
            if (status != OperationStatus.Done)
            {
                throw GrpcDefects.BadFrame("the body is not base64, although its media type says so");
            }

            length += written;
            text = text[end..];
        }

        return bytes[..length];
    }
}

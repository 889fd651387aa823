using System.Buffers;

namespace ProtoRpc.Formats.Xml;

/// <summary>A stream that reads a sequence of bytes where they are.</summary>
internal sealed class SequenceStream(in ReadOnlySequence<byte> bytes) : SequentialStream
{
    private ReadOnlySequence<byte> _rest = bytes;

    public override bool CanRead => true;

    public override int Read(Span<byte> buffer)
    {
        ReadOnlySequence<byte> part = _rest.Slice(0, Math.Min(buffer.Length, _rest.Length));
        part.CopyTo(buffer);
        _rest = _rest.Slice(part.End);
        return (int)part.Length;
    }

    public override int Read(byte[] buffer, int offset, int count) => Read(buffer.AsSpan(offset, count));
}

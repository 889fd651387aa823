using System.Buffers;

namespace ProtoRpc.Formats.Xml;

/// <summary>A stream that reads a sequence of bytes where they are.</summary>
internal sealed class SequenceStream(in ReadOnlySequence<byte> bytes) : Stream
{
    private ReadOnlySequence<byte> _rest = bytes;

    public override bool CanRead => true;

    public override bool CanSeek => false;

    public override bool CanWrite => false;

    public override long Length => throw new NotSupportedException();

    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    public override int Read(Span<byte> buffer)
    {
        ReadOnlySequence<byte> part = _rest.Slice(0, Math.Min(buffer.Length, _rest.Length));
        part.CopyTo(buffer);
        _rest = _rest.Slice(part.End);
        return (int)part.Length;
    }

    public override int Read(byte[] buffer, int offset, int count) => Read(buffer.AsSpan(offset, count));

    public override void Flush()
    {
    }

    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public override void SetLength(long value) => throw new NotSupportedException();

    public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();
}

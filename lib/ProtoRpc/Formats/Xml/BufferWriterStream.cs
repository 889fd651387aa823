using System.Buffers;

namespace ProtoRpc.Formats.Xml;

/// <summary>A stream that writes into a buffer.</summary>
internal sealed class BufferWriterStream(IBufferWriter<byte> output) : SequentialStream
{
    public override bool CanWrite => true;

    public override void Write(ReadOnlySpan<byte> buffer) => output.Write(buffer);

    public override void Write(byte[] buffer, int offset, int count) =>
        output.Write(buffer.AsSpan(offset, count));
}

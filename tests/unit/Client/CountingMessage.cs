using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Tests.Client;

/// <summary>A message with a text as its field 1, as protoc would generate it, that counts how often its size
/// is computed and its bytes are written.</summary>
internal sealed class CountingMessage(MessageDescriptor descriptor, string text) : IBufferMessage
{
    private int _measured;
    private int _written;

    public string Text => text;

    public int Measured => _measured;

    public int Written => _written;

    public MessageDescriptor Descriptor => descriptor;

    public int CalculateSize()
    {
        Interlocked.Increment(ref _measured);
        return 1 + CodedOutputStream.ComputeStringSize(text);
    }

    public void InternalWriteTo(ref WriteContext ctx)
    {
        Interlocked.Increment(ref _written);
        ctx.WriteRawTag(0x0A);
        ctx.WriteString(text);
    }

    public void WriteTo(CodedOutputStream output) => output.WriteRawMessage(this);

    public void InternalMergeFrom(ref ParseContext ctx) => throw new NotSupportedException();

    public void MergeFrom(CodedInputStream input) => throw new NotSupportedException();
}

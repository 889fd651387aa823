using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Client;

/// <summary>A reply of which only the size is known.</summary>
internal sealed class MeasuredReply(RpcMessageInfo type, int bytes) : IMessage
{
    /// <inheritdoc/>
    public MessageDescriptor Descriptor => type.Descriptor;

    /// <inheritdoc/>
    public int CalculateSize() => bytes;

    /// <inheritdoc/>
    public void WriteTo(CodedOutputStream output) => throw Gone();

    /// <inheritdoc/>
    public void MergeFrom(CodedInputStream input) => throw Gone();

    private static NotSupportedException Gone() => new("Only the size of this message was kept.");
}

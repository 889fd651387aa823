using Google.Protobuf;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc;

// The interfaces of Google.Protobuf, so that its parsers, streams and collections accept this message.
public sealed partial class DynamicMessage
    : IMessage<DynamicMessage>, IBufferMessage, ICustomDiagnosticMessage
{
    /// <inheritdoc/>
    public int CalculateSize() => MessageSizer.SizeOf(this);

    /// <inheritdoc/>
    public DynamicMessage Clone()
    {
        DynamicMessage copy = new(Layout);
        copy.MergeFrom(this);
        return copy;
    }

    /// <inheritdoc/>
    public bool Equals(DynamicMessage? other) => MessageComparer.AreEqual(this, other);

    /// <inheritdoc/>
    public override bool Equals(object? obj) => Equals(obj as DynamicMessage);

    /// <inheritdoc/>
    public override int GetHashCode() => MessageComparer.HashOf(this);

    /// <summary>The message as one line of text for people. The format may change.</summary>
    public override string ToString() => MessageText.Of(this);

    /// <inheritdoc/>
    public string ToDiagnosticString() => ToString();

    /// <inheritdoc/>
    /// <remarks>The message must be of the same type of the same schema.</remarks>
    public void MergeFrom(DynamicMessage message) => MessageMerger.Merge(this, message);

    /// <inheritdoc/>
    public void MergeFrom(CodedInputStream input) => input.ReadRawMessage(this);

    /// <inheritdoc/>
    public void WriteTo(CodedOutputStream output) => output.WriteRawMessage(this);

    /// <inheritdoc/>
    public void InternalMergeFrom(ref ParseContext ctx) => MergeFrom(ProtobufContexts.ReadAll(ref ctx));

    /// <inheritdoc/>
    public void InternalWriteTo(ref WriteContext ctx)
    {
        using WireWriter writer = EncodeComplete();
        ProtobufContexts.WriteAll(ref ctx, writer.Written);
    }
}

using System.Buffers;
using Google.Protobuf;
using ProtoRpc.Formats.Generated;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc.Formats;

/// <summary>Protocol Buffers' binary format.</summary>
internal sealed class BinaryFormat(FormatRow row) : MessageFormat(row)
{
    private protected override bool IsByProperty => false;

    internal override void WriteChecked(IMessage message, IBufferWriter<byte> output, FormatOptions options)
    {
        using EncodedMessage encoded = EncodedMessage.Of(message);
        encoded.WriteTo(output);
    }

    private protected override void WriteMessage(
        DynamicMessage message, GeneratedViews? views, IBufferWriter<byte> output, FormatOptions options) =>
        WriteChecked(message, output, options);

    private protected override void ReadMessage(
        ReadOnlySequence<byte> input, in MessageTarget target, FormatOptions options) =>
        ((DynamicMessage)target.Message).MergeFrom(
            input.IsSingleSegment ? input.FirstSpan : input.ToArray(), options.MaxElements, options.Look);
}

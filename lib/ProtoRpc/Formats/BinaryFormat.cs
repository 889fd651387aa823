using System.Buffers;

namespace ProtoRpc.Formats;

/// <summary>Protocol Buffers' binary format.</summary>
internal sealed class BinaryFormat() : MessageFormat(
    nameof(MessageFormats.Binary), "application/x-protobuf", "application/protobuf", "application/proto",
    "application/vnd.google.protobuf", "application/x-google-protobuf")
{
    public override bool IsText => false;

    private protected override void WriteMessage(
        DynamicMessage message, IBufferWriter<byte> output, FormatOptions options) => message.WriteTo(output);

    private protected override void ReadMessage(
        ReadOnlySequence<byte> input, DynamicMessage target, FormatOptions options) =>
        target.MergeFrom(input.IsSingleSegment ? input.FirstSpan : input.ToArray(), options.MaxElements);
}

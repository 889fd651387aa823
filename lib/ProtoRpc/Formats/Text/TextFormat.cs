using System.Buffers;
using ProtoRpc.Formats.Generated;

namespace ProtoRpc.Formats.Text;

/// <summary>Protocol Buffers' text format: written as <c>protoc --decode</c> prints it, and read with all
/// that the language has.</summary>
internal sealed class TextFormat(FormatRow row) : MessageFormat(row)
{
    private protected override void WriteMessage(
        DynamicMessage message, GeneratedViews? views, IBufferWriter<byte> output, FormatOptions options) =>
        new TextMessageWriter(output, message.Type, views, options).Write(message);

    private protected override bool ShowsUnknown(FormatOptions options) => options.PrintUnknownFields;

    private protected override void ReadMessage(
        ReadOnlySequence<byte> input, in MessageTarget target, FormatOptions options) =>
        new TextMessageReader(input, target.Layout.Type, options).Read(target);
}

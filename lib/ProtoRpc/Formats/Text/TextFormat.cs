using System.Buffers;

namespace ProtoRpc.Formats.Text;

/// <summary>Protocol Buffers' text format: written as <c>protoc --decode</c> prints it, and read with all
/// that the language has.</summary>
internal sealed class TextFormat(FormatRow row) : MessageFormat(row)
{
    private protected override void WriteMessage(
        DynamicMessage message, IBufferWriter<byte> output, FormatOptions options) =>
        new TextMessageWriter(output, message.Type, options).Write(message);

    private protected override void ReadMessage(
        ReadOnlySequence<byte> input, DynamicMessage target, FormatOptions options) =>
        new TextMessageReader(input, target.Type, options).Read(target);
}

using System.Buffers;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Text;

internal sealed class TextFormat() : MessageFormat(
    nameof(MessageFormats.Text), "text/x-protobuf; charset=utf-8", "text/protobuf")
{
    private protected override void WriteMessage(
        DynamicMessage message, IBufferWriter<byte> output, FormatOptions options) =>
        throw new NotImplementedException();

    private protected override void ReadMessage(
        ReadOnlySequence<byte> input, DynamicMessage target, FormatOptions options) =>
        throw new NotImplementedException();
}

using System.Buffers;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Json;

internal sealed class JsonFormat() : MessageFormat(
    nameof(MessageFormats.Json), "application/json", "text/json")
{
    private protected override void WriteMessage(
        DynamicMessage message, IBufferWriter<byte> output, FormatOptions options) =>
        throw new NotImplementedException();

    private protected override void ReadMessage(
        ReadOnlySequence<byte> input, DynamicMessage target, FormatOptions options) =>
        throw new NotImplementedException();
}

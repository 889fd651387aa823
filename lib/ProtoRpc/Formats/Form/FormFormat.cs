using System.Buffers;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Form;

internal sealed class FormFormat() : MessageFormat(
    nameof(MessageFormats.Form), "application/x-www-form-urlencoded")
{
    private protected override void WriteMessage(
        DynamicMessage message, IBufferWriter<byte> output, FormatOptions options) =>
        throw new NotImplementedException();

    private protected override void ReadMessage(
        ReadOnlySequence<byte> input, DynamicMessage target, FormatOptions options) =>
        throw new NotImplementedException();
}

using System.Buffers;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Xml;

internal sealed class XmlFormat() : MessageFormat(
    nameof(MessageFormats.Xml), "text/xml; charset=utf-8", "application/xml")
{
    private protected override void WriteMessage(
        DynamicMessage message, IBufferWriter<byte> output, FormatOptions options) =>
        throw new NotImplementedException();

    private protected override void ReadMessage(
        ReadOnlySequence<byte> input, DynamicMessage target, FormatOptions options) =>
        throw new NotImplementedException();
}

using System.Buffers;
using ProtoRpc.Formats.Generated;

namespace ProtoRpc.Formats.Json;

/// <summary>ProtoJSON.</summary>
/// <remarks>Stricter than the standard: a duplicate key is an error, because readers differ
/// in which of the two values they use.</remarks>
internal sealed class JsonFormat(FormatRow row) : MessageFormat(row)
{
    private protected override void WriteMessage(
        DynamicMessage message, GeneratedViews? views, IBufferWriter<byte> output, FormatOptions options)
    {
        using JsonTextWriter writer = new(output, options.Indented);
        new JsonMessageWriter(writer, message.Type, views, options).Write(message, 0);
        writer.Flush();
    }

    private protected override void ReadMessage(
        ReadOnlySequence<byte> input, in MessageTarget target, FormatOptions options) =>
        new JsonMessageReader(input, target.Layout.Type, options).Read(target);
}

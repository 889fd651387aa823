using System.Buffers;
using ProtoRpc.Formats.Generated;

namespace ProtoRpc.Formats.Json;

/// <summary>ProtoJSON.</summary>
/// <remarks>Stricter than it asks for in one thing: a key that is there twice is refused, for readers differ
/// in which of the two they take.</remarks>
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

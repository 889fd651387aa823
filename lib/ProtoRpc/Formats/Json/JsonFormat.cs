using System.Buffers;
using System.Text.Encodings.Web;
using System.Text.Json;
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
        JsonWriterOptions writing = new()
        {
            // What it leaves as it is needs no escapes outside of HTML.
            Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
            Indented = options.Indented,
            NewLine = "\n",
            SkipValidation = true,
            MaxDepth = JsonMessageReader.MaxJsonDepth,
        };
        using Utf8JsonWriter writer = new(output, writing);
        new JsonMessageWriter(writer, message.Type, views, options).Write(message, 0);
        writer.Flush();
    }

    private protected override void ReadMessage(
        ReadOnlySequence<byte> input, in MessageTarget target, FormatOptions options) =>
        new JsonMessageReader(input, target.Layout.Type, options).Read(target);
}

using System.Buffers;
using ProtoRpc.Formats.Generated;

namespace ProtoRpc.Formats.Form;

/// <summary>HTML forms and query strings: <c>query=asdf&amp;page_number=2</c>.</summary>
/// <remarks>For messages whose fields are scalars, lists of them, or messages that are one text (Timestamp,
/// Duration, FieldMask and the wrappers). A list is its name repeated. A question mark in front is passed
/// over. An empty value leaves out whatever is not text or bytes,
/// for a form sends its empty inputs, too.</remarks>
internal sealed class FormFormat(FormatRow row) : MessageFormat(row)
{
    private protected override void WriteMessage(
        DynamicMessage message, GeneratedViews? views, IBufferWriter<byte> output, FormatOptions options) =>
        new FormMessageWriter(output, message.Type, views, options).Write(message);

    private protected override void ReadMessage(
        ReadOnlySequence<byte> input, in MessageTarget target, FormatOptions options) =>
        new FormMessageReader(input, target.Layout.Type, options).Read(target);
}

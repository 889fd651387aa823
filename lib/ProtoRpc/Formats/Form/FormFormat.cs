using System.Buffers;
using ProtoRpc.Formats.Generated;

namespace ProtoRpc.Formats.Form;

/// <summary>HTML forms and query strings: <c>query=asdf&amp;page_number=2</c>.</summary>
/// <remarks>Supports messages whose fields are scalars, lists of scalars, or messages with a text form
/// (Timestamp, Duration, FieldMask and the wrappers). A list repeats its name. A leading question mark is
/// ignored. An empty value leaves out a field, unless it is text or bytes, because a form also sends its
/// empty inputs.</remarks>
internal sealed class FormFormat(FormatRow row) : MessageFormat(row)
{
    private protected override void WriteMessage(
        DynamicMessage message, GeneratedViews? views, IBufferWriter<byte> output, FormatOptions options) =>
        new FormMessageWriter(output, message.Type, views, options).Write(message);

    private protected override void ReadMessage(
        ReadOnlySequence<byte> input, in MessageTarget target, FormatOptions options) =>
        new FormMessageReader(input, target.Layout.Type, options).Read(target);
}

using System.Collections;
using System.Net;
using ProtoRpc.Formats.Generated;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats;

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

/// <summary>One run of reading a message of a form or query string.</summary>
/// <remarks>The form is parsed in place. Only a name and value that cross a segment are copied.</remarks>
internal sealed class FormMessageReader(
    in ReadOnlySequence<byte> form, RpcMessageInfo root, FormatOptions options)
    : FormatReader(root, options, form.Length)
{
    private const int EscapeLength = 3;

    private static readonly UTF8Encoding Strict = new(false, throwOnInvalidBytes: true);

    private readonly ReadOnlySequence<byte> _form = form;
    private long _offset;

    protected override string Where => $"byte {_offset}";

    protected override void ReadAll(in MessageTarget target)
    {
        SequenceReader<byte> rest = new(_form);
        rest.IsNext((byte)'?', advancePast: true);
        SeenFields seen = new(target.Layout.Fields.Length);
        int count = 0;
        while (!rest.End)
        {
            _offset = rest.Consumed;
            if (!rest.TryReadTo(out ReadOnlySequence<byte> pair, (byte)'&'))
            {
                pair = rest.UnreadSequence;
                rest.AdvanceToEnd();
            }
            if (pair.IsEmpty)
            {
                continue;
            }
            CountToken();
            if (++count > Options.MaxFormFields)
            {
                throw Malformed($"there are more than {Options.MaxFormFields} pairs of name and value.");
            }
            ReadPair(target, ref seen, pair.IsSingleSegment ? pair.FirstSpan : pair.ToArray());
        }
    }

    private void ReadPair(in MessageTarget message, ref SeenFields seen, ReadOnlySpan<byte> pair)
    {
        int equals = pair.IndexOf((byte)'=');
        string name = Decode(equals < 0 ? pair : pair[..equals]);
        if (message.Layout.Find(name) is not { } field)
        {
            if (!Options.IgnoreUnknownFields)
            {
                throw UnknownField(message.Layout, name);
            }
            return;
        }
        Path.PushField(field.Info.Name);
        if (field.IsMap || (field.IsMessage && !WellKnownText.IsOne(field.Message.WellKnown)))
        {
            throw Invalid(
                $"a form cannot hold {field.Info.TypeName}, only scalars and lists of them. Use JSON.");
        }
        string value = Decode(equals < 0 ? [] : pair[(equals + 1)..]);
        if (value.Length > 0 || MayBeEmpty(field))
        {
            if (!field.IsRepeated)
            {
                CheckOnce(ref seen, field);
                CheckOneof(message, field);
            }
            // Browsers send "on" for a checked box.
            StoreText(message, field, field.Kind == RpcFieldKind.Bool && value == "on" ? "true" : value);
        }
        Path.Pop();
    }

    // A FieldMask without paths is an empty text.
    private static bool MayBeEmpty(FieldLayout field) => IsText(field)
        || (field.IsMessage && field.Message.WellKnown switch
        {
            WellKnownType.FieldMask => true,
            WellKnownType.Wrapper => IsText(field.Message.Fields[0]),
            _ => false,
        });

    private static bool IsText(FieldLayout field) => field.Kind is RpcFieldKind.String or RpcFieldKind.Bytes;

    private string Decode(ReadOnlySpan<byte> text)
    {
        byte[] bytes = new byte[text.Length];
        int length = 0;
        for (int i = 0; i < text.Length; i++)
        {
            byte value = text[i] == '+' ? (byte)' ' : text[i];
            if (value == '%')
            {
                if (i + EscapeLength > text.Length || !byte.TryParse(
                    text.Slice(i + 1, 2), NumberStyles.AllowHexSpecifier,
                    CultureInfo.InvariantCulture, out value))
                {
                    throw Malformed(
                        "a percent sign needs two hexadecimal digits after it; write %25 for the sign.");
                }
                i += EscapeLength - 1;
            }
            bytes[length++] = value;
        }
        try
        {
            return Strict.GetString(bytes, 0, length);
        }
        catch (DecoderFallbackException e)
        {
            throw Malformed("the text is not valid UTF-8.", e);
        }
    }
}

/// <summary>One run of writing a message as a form.</summary>
internal sealed class FormMessageWriter(
    IBufferWriter<byte> output, RpcMessageInfo root, GeneratedViews? views, FormatOptions options)
    : FormatWriter(root, views, options)
{
    private bool _isFirst = true;

    public void Write(DynamicMessage message)
    {
        foreach (FieldLayout field in message.Layout.Shown.Concat(message.Layout.Extensions))
        {
            if (!IsWritten(message, field))
            {
                continue;
            }
            Path.PushField(field.Info.Name);
            if (field.IsMap || (field.IsMessage && !WellKnownText.IsOne(field.Message.WellKnown)))
            {
                throw Invalid(
                    $"a form cannot hold {field.Info.TypeName}, only scalars and lists of them. Use JSON.");
            }
            object value = message.Get(field.Info)!;
            if (field.IsRepeated)
            {
                foreach (object item in (IEnumerable)value)
                {
                    WritePair(field, item);
                }
            }
            else
            {
                WritePair(field, value);
            }
            Path.Pop();
        }
    }

    private void WritePair(FieldLayout field, object value)
    {
        string pair = $"{(_isFirst ? "" : "&")}{WebUtility.UrlEncode(field.Info.Name)}=" +
            WebUtility.UrlEncode(TextOf(field, value));
        Encoding.UTF8.GetBytes(pair, output);
        _isFirst = false;
    }
}

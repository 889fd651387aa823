using System.Buffers;
using System.Globalization;
using System.Text;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Form;

/// <summary>One run of reading a message of a form or query string.</summary>
/// <remarks>The form is read where it is. A pair that lies in several pieces is copied, alone.</remarks>
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
                $"a form cannot hold a {field.Info.TypeName}, only scalars and lists of them. Use JSON.");
        }
        string value = Decode(equals < 0 ? [] : pair[(equals + 1)..]);
        if (value.Length > 0 || MayBeEmpty(field))
        {
            if (!field.IsRepeated)
            {
                CheckOnce(ref seen, field);
                CheckOneof(message, field);
            }
            // What browsers send of a box that is checked.
            StoreText(message, field, field.Kind == RpcFieldKind.Bool && value == "on" ? "true" : value);
        }
        Path.Pop();
    }

    // An empty list of paths is also a FieldMask.
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

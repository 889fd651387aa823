using System.Text;
using System.Text.Json;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Json;

// Numbers, booleans and enums.
internal sealed partial class JsonMessageReader
{
    /// <returns>False when the value is the name of an enum that is not known, and these are passed
    /// over.</returns>
    private bool TryReadScalar(ref Utf8JsonReader reader, FieldLayout field, out ulong bits)
    {
        bits = 0;
        switch (field.Kind)
        {
            case RpcFieldKind.Bool:
                if (reader.TokenType is not (JsonTokenType.True or JsonTokenType.False))
                {
                    throw Invalid(ref reader, "is not a bool; write true or false without quotes.");
                }
                bits = reader.TokenType == JsonTokenType.True ? 1UL : 0;
                return true;
            case RpcFieldKind.Enum:
                return TryReadEnum(ref reader, field, out bits);
            default:
                bits = ReadNumber(ref reader, field);
                return true;
        }
    }

    private ulong ReadNumber(ref Utf8JsonReader reader, FieldLayout field)
    {
        if (reader.TokenType == JsonTokenType.Number)
        {
            if (field.Kind is RpcFieldKind.Int32 or RpcFieldKind.SInt32 && reader.TryGetInt32(out int number))
            {
                return ScalarValue.Of(number);
            }
            return JsonNumber.Read(field, BytesOf(ref reader), out ulong bits) is { } problem
                ? throw Invalid(ref reader, problem)
                : bits;
        }
        if (reader.TokenType != JsonTokenType.String)
        {
            throw Invalid(ref reader, $"is not a number, which {field.Info.FullName} needs.");
        }
        ReadOnlySpan<byte> text =
            reader.ValueIsEscaped ? Encoding.UTF8.GetBytes(reader.GetString()!) : BytesOf(ref reader);
        if (field.Kind is RpcFieldKind.Double or RpcFieldKind.Float && SpecialOf(text) is { } special)
        {
            return field.Kind == RpcFieldKind.Double
                ? ScalarValue.Of(special)
                : ScalarValue.Of((float)special);
        }
        return JsonNumber.Read(field, text, out ulong quoted) is { } wrong
            ? throw Invalid(ref reader, wrong)
            : quoted;
    }

    private static double? SpecialOf(ReadOnlySpan<byte> text) =>
        text.SequenceEqual("NaN"u8) ? ScalarValue.NaN
        : text.SequenceEqual("Infinity"u8) ? double.PositiveInfinity
        : text.SequenceEqual("-Infinity"u8) ? double.NegativeInfinity
        : null;

    private bool TryReadEnum(ref Utf8JsonReader reader, FieldLayout field, out ulong bits)
    {
        RpcEnumInfo type = field.Enum!;
        switch (reader.TokenType)
        {
            case JsonTokenType.Null:
                // Only of the enum that has nothing but null.
                bits = 0;
                return true;
            case JsonTokenType.String when type.TryGetExactNumber(reader.GetString()!, out int number):
                bits = ScalarValue.Of(number);
                return true;
            case JsonTokenType.String:
                bits = 0;
                if (Options.IgnoreUnknownFields)
                {
                    return false;
                }
                string hint = NearestName.Hint(reader.GetString()!, type.Values.Select(value => value.Key));
                throw Invalid(ref reader, $"is not in the enum {type.FullName}." + (hint.Length > 0 ? hint
                    : ValueText.OfNames(
                        type.Values.Select(v => v.Key), " Its names are", " It has none") + "."));
            case JsonTokenType.Number:
                if (JsonNumber.Read(field, BytesOf(ref reader), out bits) is not null)
                {
                    throw Invalid(ref reader, $"is not a number of the enum {type.FullName}.");
                }
                if (field.ClosedNumbers is { } known && !known.Contains((int)bits))
                {
                    return Options.IgnoreUnknownFields
                        ? false
                        : throw Invalid(
                            ref reader, $"is not a number of the enum {type.FullName}, which is closed.");
                }
                return true;
            default:
                throw Invalid(ref reader, $"is not in the enum {type.FullName}; give a name or a number.");
        }
    }
}

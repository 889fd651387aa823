using System.Buffers.Text;
using System.Globalization;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Json;

/// <summary>Reads the numbers of JSON exactly, in quotes too: <c>1e3</c> and <c>5.0</c> are also whole
/// numbers.</summary>
internal static class JsonNumber
{
    private const NumberStyles FloatStyle =
        NumberStyles.AllowLeadingSign | NumberStyles.AllowDecimalPoint | NumberStyles.AllowExponent;

    /// <returns>What is wrong with the number, or null.</returns>
    public static string? Read(FieldLayout field, ReadOnlySpan<byte> text, out ulong bits)
    {
        bits = 0;
        switch (field.Kind)
        {
            case RpcFieldKind.Double:
                if (!IsNumber(text) ||
                    !double.TryParse(text, FloatStyle, CultureInfo.InvariantCulture, out double real))
                {
                    return "is not a number; give a number, 'NaN', 'Infinity' or '-Infinity'.";
                }
                bits = ScalarValue.Of(real);
                return double.IsFinite(real) ? null : "does not fit into double.";
            case RpcFieldKind.Float:
                if (!IsNumber(text) ||
                    !float.TryParse(text, FloatStyle, CultureInfo.InvariantCulture, out float single))
                {
                    return "is not a number; give a number, 'NaN', 'Infinity' or '-Infinity'.";
                }
                bits = ScalarValue.Of(single);
                return float.IsFinite(single) ? null : "does not fit into float.";
            default:
                return ReadWhole(field, text, out bits);
        }
    }

    private static string? ReadWhole(FieldLayout field, ReadOnlySpan<byte> text, out ulong bits)
    {
        (Int128 min, Int128 max) = RangeOf(field.Kind);

        // Nearly all numbers are a few digits.
        Int128 whole;
        bool isNumber = IsNumber(text);
        if (isNumber && Utf8Parser.TryParse(text, out long plain, out int length)
            && length == text.Length)
        {
            whole = plain;
        }
        else if (!isNumber || !NumberText.TryReadWhole(text, out whole))
        {
            bits = 0;
            return $"is not a whole number; {field.Info.TypeName} takes numbers from {min} to {max}.";
        }
        bits = unchecked((ulong)whole);
        return whole >= min && whole <= max
            ? null
            : $"does not fit into {field.Info.TypeName}, which takes numbers from {min} to {max}.";
    }

    // The grammar of RFC 8259, in quotes too: no plus sign, no spaces, no leading zeros.
    private static bool IsNumber(ReadOnlySpan<byte> text)
    {
        int at = text is [(byte)'-', ..] ? 1 : 0;
        int whole = CountDigits(text[at..]);
        if (whole == 0 || (whole > 1 && text[at] == '0'))
        {
            return false;
        }
        at += whole;
        if (at < text.Length && text[at] == '.')
        {
            int fraction = CountDigits(text[++at..]);
            if (fraction == 0)
            {
                return false;
            }
            at += fraction;
        }
        if (at == text.Length)
        {
            return true;
        }
        if (text[at++] is not ((byte)'e' or (byte)'E'))
        {
            return false;
        }
        at += at < text.Length && text[at] is (byte)'+' or (byte)'-' ? 1 : 0;
        int exponent = CountDigits(text[at..]);
        return exponent > 0 && at + exponent == text.Length;
    }

    private static int CountDigits(ReadOnlySpan<byte> text)
    {
        int end = text.IndexOfAnyExceptInRange((byte)'0', (byte)'9');
        return end < 0 ? text.Length : end;
    }

    private static (Int128 Min, Int128 Max) RangeOf(RpcFieldKind kind) => kind switch
    {
        RpcFieldKind.Int64 or RpcFieldKind.SInt64 or RpcFieldKind.SFixed64 => (long.MinValue, long.MaxValue),
        RpcFieldKind.UInt64 or RpcFieldKind.Fixed64 => (0, ulong.MaxValue),
        RpcFieldKind.UInt32 or RpcFieldKind.Fixed32 => (0, uint.MaxValue),
        _ => (int.MinValue, int.MaxValue),
    };
}

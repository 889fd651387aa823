using System.Buffers.Text;
using System.Globalization;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Json;

/// <summary>Reads the numbers of JSON exactly: <c>1e3</c> and <c>5.0</c> are also whole numbers.</summary>
internal static class JsonNumber
{
    private const int MaxExponent = 1000;
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
        if (IsNumber(text) && Utf8Parser.TryParse(text, out long plain, out int length)
            && length == text.Length)
        {
            whole = plain;
        }
        else if (!TryReadWhole(text, out whole))
        {
            bits = 0;
            return $"is not a whole number; {field.Info.TypeName} takes numbers from {min} to {max}.";
        }
        bits = unchecked((ulong)whole);
        return whole >= min && whole <= max
            ? null
            : $"does not fit into {field.Info.TypeName}, which takes numbers from {min} to {max}.";
    }

    private static bool IsNumber(ReadOnlySpan<byte> text) => text is [>= (byte)'0' and <= (byte)'9', ..] or
        [(byte)'-', >= (byte)'0' and <= (byte)'9', ..];

    private static (Int128 Min, Int128 Max) RangeOf(RpcFieldKind kind) => kind switch
    {
        RpcFieldKind.Int64 or RpcFieldKind.SInt64 or RpcFieldKind.SFixed64 => (long.MinValue, long.MaxValue),
        RpcFieldKind.UInt64 or RpcFieldKind.Fixed64 => (0, ulong.MaxValue),
        RpcFieldKind.UInt32 or RpcFieldKind.Fixed32 => (0, uint.MaxValue),
        _ => (int.MinValue, int.MaxValue),
    };

    /// <summary>The whole number that the text is; one that is too large for every type stays too
    /// large.</summary>
    private static bool TryReadWhole(ReadOnlySpan<byte> text, out Int128 value)
    {
        value = 0;
        if (!IsNumber(text))
        {
            return false;
        }
        bool negative = text[0] == '-';
        Int128 digits = 0;
        int exponent = 0;
        bool inFraction = false;
        int i = negative ? 1 : 0;
        for (; i < text.Length && text[i] is not ((byte)'e' or (byte)'E'); i++)
        {
            if (text[i] == '.' && !inFraction && i + 1 < text.Length && char.IsAsciiDigit((char)text[i + 1]))
            {
                inFraction = true;
                continue;
            }
            if (!char.IsAsciiDigit((char)text[i]))
            {
                return false;
            }
            if (digits > Int128.MaxValue / 100)
            {
                // No type has that many digits, and a fraction is not a whole number.
                value = Int128.MaxValue;
                return true;
            }
            digits = (digits * 10) + (text[i] - '0');
            exponent -= inFraction ? 1 : 0;
        }
        if (i < text.Length)
        {
            if (!int.TryParse(
                text[(i + 1)..], NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out int given))
            {
                return false;
            }
            exponent += Math.Clamp(given, -MaxExponent, MaxExponent);
        }
        for (; exponent < 0 && digits != 0; exponent++)
        {
            if (digits % 10 != 0)
            {
                return false;
            }
            digits /= 10;
        }
        for (; exponent > 0 && digits != 0 && digits <= Int128.MaxValue / 10; exponent--)
        {
            digits *= 10;
        }
        value = negative ? -digits : digits;
        return true;
    }
}

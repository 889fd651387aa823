using System.Globalization;
using System.Text;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Text;

/// <summary>The numbers of the text format: decimal, hexadecimal and octal integers, and floating point as C
/// prints it.</summary>
internal static class TextNumber
{
    private const int DoubleDigits = 15;
    private const int SingleDigits = 6;

    /// <returns>False when the token is no integer of at most 64 bits.</returns>
    public static bool TryReadInteger(ReadOnlySpan<byte> token, bool negative, out Int128 value)
    {
        bool read = true;
        ulong digits = 0;
        switch (token)
        {
            case [(byte)'0', (byte)'x' or (byte)'X', ..]:
                read = ulong.TryParse(
                    token[2..], NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture, out digits);
                break;
            case [(byte)'0', _, ..]:
                foreach (byte digit in token)
                {
                    read &= digit is >= (byte)'0' and <= (byte)'7' && digits >> 61 == 0;
                    digits = (digits << 3) + (ulong)(digit - '0');
                }
                break;
            default:
                read = ulong.TryParse(token, NumberStyles.None, CultureInfo.InvariantCulture, out digits);
                break;
        }
        value = negative ? -(Int128)digits : digits;
        return read;
    }

    /// <summary>Reads decimal integers and floating point; what is too large is infinite.</summary>
    public static bool TryReadFloat(
        RpcFieldKind kind, TextToken token, ReadOnlySpan<byte> bytes, bool negative, out ulong bits)
    {
        bits = 0;
        if (token == TextToken.Identifier)
        {
            string name = Encoding.UTF8.GetString(bytes).ToLowerInvariant();
            double special = name == "nan" ? ScalarValue.NaN : double.PositiveInfinity;
            bits = BitsOf(kind, negative && name != "nan" ? -special : special);
            return name is "nan" or "inf" or "infinity";
        }
        bool isOctal = token == TextToken.Integer && bytes is [(byte)'0', _, ..];
        if (isOctal || token is not (TextToken.Integer or TextToken.Float))
        {
            return false;
        }
        ReadOnlySpan<byte> number = bytes[^1] is (byte)'f' or (byte)'F' ? bytes[..^1] : bytes;
        if (kind == RpcFieldKind.Float)
        {
            // In one step: a double in between would round twice.
            bool read =
                float.TryParse(number, NumberStyles.Float, CultureInfo.InvariantCulture, out float single);
            bits = ScalarValue.Of(negative ? -single : single);
            return read;
        }
        bool isDouble =
            double.TryParse(number, NumberStyles.Float, CultureInfo.InvariantCulture, out double value);
        bits = ScalarValue.Of(negative ? -value : value);
        return isDouble;
    }

    /// <summary>A scalar as it is printed.</summary>
    public static string Print(FieldLayout field, ulong bits) => field.Kind switch
    {
        RpcFieldKind.Double => Print(ScalarValue.ToDouble(bits)),
        RpcFieldKind.Float => Print(ScalarValue.ToSingle(bits)),
        _ => ScalarText.Of(field, bits),
    };

    private static ulong BitsOf(RpcFieldKind kind, double special) =>
        kind == RpcFieldKind.Float ? ScalarValue.Of((float)special) : ScalarValue.Of(special);

    private static string Print(double value)
    {
        string text = value.ToString($"G{DoubleDigits}", CultureInfo.InvariantCulture);
        return double.IsFinite(value)
            ? Lower(Parse(text) == value ? text : value.ToString("G17", CultureInfo.InvariantCulture))
            : Special(value);

        static double Parse(string text) => double.Parse(text, CultureInfo.InvariantCulture);
    }

    private static string Print(float value)
    {
        if (!float.IsFinite(value))
        {
            return Special(value);
        }
        string text = value.ToString($"G{SingleDigits}", CultureInfo.InvariantCulture);
        // protoc prints all digits of what C has no normal number for.
        bool same = !float.IsSubnormal(value) && float.Parse(text, CultureInfo.InvariantCulture) == value;
        return Lower(same ? text : value.ToString("G9", CultureInfo.InvariantCulture));
    }

    private static string Lower(string number) => number.Replace('E', 'e');

    private static string Special(double value) => double.IsNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

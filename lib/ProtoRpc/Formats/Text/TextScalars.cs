using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Text;

/// <summary>The content of a string literal.</summary>
internal static class TextEscapes
{
    private const int MaxRune = 0x10FFFF;

    /// <summary>Writes bytes like the text format: printable ASCII, and other bytes in octal.</summary>
    public static void Append(StringBuilder text, ReadOnlySpan<byte> bytes)
    {
        text.Append('"');
        foreach (byte b in bytes)
        {
            _ = b switch
            {
                (byte)'\n' => text.Append("\\n"),
                (byte)'\r' => text.Append("\\r"),
                (byte)'\t' => text.Append("\\t"),
                (byte)'"' or (byte)'\'' or (byte)'\\' => text.Append('\\').Append((char)b),
                >= 0x20 and < 0x7F => text.Append((char)b),
                _ => text.Append('\\')
                    .Append((char)('0' + (b >> 6)))
                    .Append((char)('0' + ((b >> 3) & 7)))
                    .Append((char)('0' + (b & 7))),
            };
        }
        text.Append('"');
    }

    /// <summary>Adds the bytes of a literal's content.</summary>
    /// <returns>The error, or null.</returns>
    public static string? Unescape(ReadOnlySpan<byte> literal, List<byte> bytes)
    {
        while (!literal.IsEmpty)
        {
            if (literal[0] != '\\')
            {
                int next = literal.IndexOf((byte)'\\');
                ReadOnlySpan<byte> plain = next < 0 ? literal : literal[..next];
                bytes.AddRange(plain);
                literal = literal[plain.Length..];
                continue;
            }
            if (ReadEscape(ref literal, bytes) is { } problem)
            {
                return problem;
            }
        }
        return null;
    }

    private static string? ReadEscape(ref ReadOnlySpan<byte> literal, List<byte> bytes)
    {
        byte kind = literal.Length > 1 ? literal[1] : (byte)0;
        byte? simple = kind switch
        {
            (byte)'a' => 7,
            (byte)'b' => 8,
            (byte)'f' => 12,
            (byte)'n' => 10,
            (byte)'r' => 13,
            (byte)'t' => 9,
            (byte)'v' => 11,
            (byte)'?' or (byte)'\\' or (byte)'\'' or (byte)'"' => kind,
            _ => null,
        };
        if (simple is { } value)
        {
            bytes.Add(value);
            literal = literal[2..];
            return null;
        }
        switch (kind)
        {
            case >= (byte)'0' and <= (byte)'7':
                int octal = Take(ref literal, 1, 3, 8, out _);
                bytes.Add((byte)octal);
                return octal <= byte.MaxValue ? null : "an octal escape is more than \\377.";
            case (byte)'x' or (byte)'X':
                int hex = Take(ref literal, 2, 2, 16, out int digits);
                bytes.Add((byte)hex);
                return digits > 0 ? null : "\\x needs hexadecimal digits after it.";
            case (byte)'u' or (byte)'U':
                return ReadRune(ref literal, kind == 'u' ? 4 : 8, bytes);
            default:
                return "a backslash does not start a known escape; write \\\\ for a backslash.";
        }
    }

    private static string? ReadRune(ref ReadOnlySpan<byte> literal, int length, List<byte> bytes)
    {
        int rune = Take(ref literal, 2, length, 16, out int digits);
        if (digits != length)
        {
            return $"a Unicode escape needs {length} hexadecimal digits.";
        }
        // A surrogate is not a character. Two surrogate escapes are not combined either.
        if (rune is < 0 or > MaxRune or (>= 0xD800 and <= 0xDFFF))
        {
            return "an escape is not a character: it is a surrogate, or more than 10FFFF.";
        }
        Span<byte> encoded = stackalloc byte[4];
        bytes.AddRange(encoded[..new Rune(rune).EncodeToUtf8(encoded)]);
        return null;
    }

    private static int Take(ref ReadOnlySpan<byte> literal, int start, int most, int radix, out int digits)
    {
        int value = 0;
        digits = 0;
        while (digits < most && start + digits < literal.Length &&
            Digit(literal[start + digits]) is >= 0 and int digit && digit < radix)
        {
            value = unchecked((value * radix) + digit);
            digits++;
        }
        literal = literal[(start + digits)..];
        return value;
    }

    private static int Digit(byte character) =>
        char.IsAsciiHexDigit((char)character) ? Convert.ToInt32(((char)character).ToString(), 16) : -1;
}

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

    /// <summary>Reads decimal integers and floating point numbers. A number that is too large is
    /// infinite.</summary>
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
            // Parsed as float directly: parsing a double first would round twice.
            bool read =
                float.TryParse(number, NumberStyles.Float, CultureInfo.InvariantCulture, out float single);
            bits = ScalarValue.ToBits(negative ? -single : single);
            return read;
        }
        bool isDouble =
            double.TryParse(number, NumberStyles.Float, CultureInfo.InvariantCulture, out double value);
        bits = ScalarValue.ToBits(negative ? -value : value);
        return isDouble;
    }

    /// <summary>Formats a scalar.</summary>
    public static string Print(FieldLayout field, ulong bits) => field.Kind switch
    {
        RpcFieldKind.Double => Print(ScalarValue.ToDouble(bits)),
        RpcFieldKind.Float => Print(ScalarValue.ToSingle(bits)),
        _ => ScalarText.Format(field, bits),
    };

    private static ulong BitsOf(RpcFieldKind kind, double special) =>
        kind == RpcFieldKind.Float ? ScalarValue.ToBits((float)special) : ScalarValue.ToBits(special);

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
        // protoc prints subnormal numbers with all their digits.
        bool same = !float.IsSubnormal(value) && float.Parse(text, CultureInfo.InvariantCulture) == value;
        return Lower(same ? text : value.ToString("G9", CultureInfo.InvariantCulture));
    }

    private static string Lower(string number) => number.Replace('E', 'e');

    private static string Special(double value) => double.IsNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

/// <summary>The names of fields in the text format.</summary>
internal static class TextNames
{
    // The characters that parsers accept in a URL, except the percent sign, which two digits must follow.
    private static readonly SearchValues<char> UrlCharacters = SearchValues.Create(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz._/-~!$&'()*+,;=:@");

    /// <summary>The name of a field. A group has its type's name, an extension its full name in brackets, and
    /// an item of a MessageSet its type's full name in brackets.</summary>
    public static string GetName(FieldLayout field) =>
        IsLikeGroup(field.Info) ? field.Info.MessageType!.Name : field.Info.MessageSetName ?? field.Info.Name;

    /// <summary>The field with a name without brackets, in the same case; a group has two names.</summary>
    public static FieldLayout? Find(MessageLayout layout, string name)
    {
        if (layout.Find(name) is { Info.IsExtension: false } found && found.Info.Name == name)
        {
            return found;
        }
        foreach (FieldLayout field in layout.Fields)
        {
            if (field.Kind == RpcFieldKind.Group && !field.Info.IsExtension && GetName(field) == name)
            {
                return field;
            }
        }
        return null;
    }

    /// <summary>Whether the URL of a type can be written in brackets. A peer could otherwise end the brackets
    /// with it, or write to a terminal.</summary>
    public static bool CanBracket(string typeUrl) => !typeUrl.AsSpan().ContainsAnyExcept(UrlCharacters);

    // Whether a field is a group of proto2, or a delimited field of an edition with the form of a group.
    private static bool IsLikeGroup(RpcFieldInfo field) =>
        field.Kind == RpcFieldKind.Group && !field.IsExtension &&
        field.Name == field.MessageType!.Name.ToLowerInvariant() &&
        field.MessageType.ContainingType == field.ContainingType;
}

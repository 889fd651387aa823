using System.Text;

namespace ProtoRpc.Formats.Text;

/// <summary>What stands between the quotes of a string.</summary>
internal static class TextEscapes
{
    private const int MaxRune = 0x10FFFF;

    /// <summary>Bytes as the text format prints them: in ASCII, what is not in octal.</summary>
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

    /// <summary>Adds the bytes that the inside of a literal stands for.</summary>
    /// <returns>What is wrong with it, or null.</returns>
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
        // Surrogates are UTF-16's, not characters: not even two of them are read as one.
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

using System.Globalization;
using System.Text;

namespace ProtoRpc.Protocols.Grpc;

/// <summary>The header grpc-message: UTF-8 with percent signs before what is not printable ASCII.</summary>
internal static class GrpcMessageText
{
    public const string HeaderName = "grpc-message";

    // What stands for the end of a text that is cut off.
    private const string More = "...";

    /// <summary>Writes a text.</summary>
    /// <param name="text">The text.</param>
    /// <param name="maxLength">How many characters the header has at the most: peers bound their headers. A
    /// longer text is cut off, between characters.</param>
    public static string Encode(string text, int maxLength = int.MaxValue)
    {
        if (text.Length <= maxLength && text.All(static c => IsPlain(c)))
        {
            return text;
        }

        StringBuilder encoded = new(Math.Min(text.Length + 16, maxLength));
        int whole = 0;
        foreach (Rune rune in text.EnumerateRunes())
        {
            Append(encoded, rune);
            if (encoded.Length > maxLength)
            {
                encoded.Length = whole;
                return encoded.Append(More).ToString();
            }

            // The place where the ellipsis still fits.
            if (encoded.Length <= maxLength - More.Length)
            {
                whole = encoded.Length;
            }
        }

        return encoded.ToString();
    }

    /// <summary>Reads a text; what is no escape stands for itself,
    /// for an error's text is better damaged than lost.</summary>
    public static string Decode(string encoded)
    {
        if (!encoded.Contains('%'))
        {
            return encoded;
        }

        byte[] octets = new byte[Encoding.UTF8.GetMaxByteCount(encoded.Length)];
        int length = 0;
        for (int i = 0; i < encoded.Length; i++)
        {
            if (encoded[i] == '%' && i + 2 < encoded.Length
                && byte.TryParse(
                    encoded.AsSpan(i + 1, 2), NumberStyles.AllowHexSpecifier,
                    CultureInfo.InvariantCulture, out byte octet))
            {
                octets[length++] = octet;
                i += 2;
            }
            else
            {
                length += Encoding.UTF8.GetBytes(encoded.AsSpan(i, 1), octets.AsSpan(length));
            }
        }

        return Encoding.UTF8.GetString(octets, 0, length);
    }

    private static void Append(StringBuilder encoded, Rune rune)
    {
        Span<byte> octets = stackalloc byte[4];
        foreach (byte octet in octets[..rune.EncodeToUtf8(octets)])
        {
            if (IsPlain((char)octet))
            {
                encoded.Append((char)octet);
            }
            else
            {
                encoded.Append(CultureInfo.InvariantCulture, $"%{octet:X2}");
            }
        }
    }

    private static bool IsPlain(char c) => c is >= ' ' and <= '~' and not '%';
}

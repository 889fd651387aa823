using System.Globalization;
using System.Text;

namespace ProtoRpc.Wire.Grpc;

/// <summary>The header grpc-message: UTF-8 with percent signs before what is not printable ASCII.</summary>
internal static class GrpcMessageText
{
    public const string HeaderName = "grpc-message";

    /// <summary>Writes a text.</summary>
    public static string Encode(string text)
    {
        if (text.All(static c => IsPlain(c)))
        {
            return text;
        }

        StringBuilder encoded = new(text.Length + 16);
        foreach (byte octet in Encoding.UTF8.GetBytes(text))
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

    private static bool IsPlain(char c) => c is >= ' ' and <= '~' and not '%';
}

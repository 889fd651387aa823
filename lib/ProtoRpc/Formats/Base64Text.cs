namespace ProtoRpc.Formats;

/// <summary>Reads base64 in both alphabets, with or without padding.</summary>
internal static class Base64Text
{
    private const int GroupLength = 4;

    public static bool TryDecode(string text, out byte[] bytes)
    {
        ReadOnlySpan<char> digits = text.AsSpan().TrimEnd('=');
        int padding = text.Length - digits.Length;
        int rest = digits.Length % GroupLength;
        bytes = [];
        if (rest == 1 || digits.ContainsAny(" \t\r\n") ||
            (padding > 0 && (padding > 2 || text.Length % GroupLength != 0)))
        {
            return false;
        }
        char[] standard = new char[digits.Length + ((GroupLength - rest) % GroupLength)];
        digits.CopyTo(standard);
        standard.AsSpan(digits.Length).Fill('=');
        standard.AsSpan().Replace('-', '+');
        standard.AsSpan().Replace('_', '/');
        byte[] decoded = new byte[standard.Length / GroupLength * 3];
        if (!Convert.TryFromBase64Chars(standard, decoded, out int length))
        {
            return false;
        }
        bytes = decoded.Length == length ? decoded : decoded[..length];
        return true;
    }
}

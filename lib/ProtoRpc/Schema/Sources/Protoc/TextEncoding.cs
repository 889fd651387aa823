namespace ProtoRpc.Schema.Sources.Protoc;

/// <summary>Finds files that are text in another encoding than UTF-8, by their first bytes.</summary>
internal static class TextEncoding
{
    /// <summary>The encoding error of a file; null if it may be UTF-8, or cannot be read.</summary>
    /// <param name="path">The file.</param>
    /// <param name="shown">Its path for the message.</param>
    public static string? ProblemOf(string path, string shown)
    {
        Span<byte> first = stackalloc byte[4];
        int count;
        try
        {
            using FileStream file = File.OpenRead(path);
            count = file.ReadAtLeast(first, first.Length, throwOnEndOfStream: false);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return null;
        }

        return Find(first[..count]) is { } encoding
            ? $"'{shown}' is in the encoding {encoding}, and .proto files must be UTF-8. Save it as UTF-8."
            : null;
    }

    // Recognizes the encoding by a byte order mark, or by the zeros of an ASCII character at the start.
    private static string? Find(ReadOnlySpan<byte> first) => first switch
    {
        [0xFF, 0xFE, 0, 0] or [0, 0, 0xFE, 0xFF] => "UTF-32",
        [0xFF, 0xFE, ..] or [0xFE, 0xFF, ..] => "UTF-16",
        [not 0, 0, not 0, 0] or [0, not 0, 0, not 0] => "UTF-16",
        _ => null,
    };
}

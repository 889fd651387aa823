namespace ProtoRpc.Formats;

/// <summary>Where in a text an offset is.</summary>
internal static class TextPosition
{
    /// <summary><c>line 3, column 12</c>, both from 1; columns count bytes.</summary>
    public static string Of(ReadOnlySpan<byte> text, long offset)
    {
        ReadOnlySpan<byte> before = text[..(int)Math.Min(offset, text.Length)];
        int line = before.Count((byte)'\n') + 1;
        int column = before.Length - before.LastIndexOf((byte)'\n');
        return $"line {line}, column {column}";
    }
}

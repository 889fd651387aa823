namespace ProtoRpc.Formats;

/// <summary>Where a text begins within a longer one, so that errors name the place in that.</summary>
/// <param name="Lines">The lines before it.</param>
/// <param name="Columns">The bytes before it in its first line; negative for a text that was written before
/// what the user gave.</param>
internal readonly record struct TextOrigin(long Lines, long Columns)
{
    /// <summary>The place behind a text that begins here.</summary>
    public TextOrigin Behind(ReadOnlySpan<byte> text)
    {
        int lines = text.Count((byte)'\n');
        return lines == 0
            ? this with { Columns = Columns + text.Length }
            : new TextOrigin(Lines + lines, text.Length - text.LastIndexOf((byte)'\n') - 1);
    }

    /// <summary><c>line 3, column 12</c>, both from 1, of a place in the text.</summary>
    /// <param name="line">The lines of the text before it.</param>
    /// <param name="column">The bytes before it in its line.</param>
    public string Place(long line, long column) =>
        $"line {Lines + line + 1}, column {Math.Max(line == 0 ? Columns + column : column, 0) + 1}";
}

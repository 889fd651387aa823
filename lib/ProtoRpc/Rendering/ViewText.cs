namespace ProtoRpc.Rendering;

/// <summary>Formats text for a cell or a line: without control characters, and measured in the cells of a
/// terminal.</summary>
internal static class ViewText
{
    public const string Ellipsis = "…";

    private const int MaxName = 8192;

    // Characters that are two cells wide in terminals: East Asian wide and full-width characters, and emoji.
    private static readonly (int First, int Last)[] Wide =
    [
        (0x1100, 0x115F), (0x2E80, 0x303E), (0x3041, 0xA4CF), (0xAC00, 0xD7A3), (0xF900, 0xFAFF),
        (0xFE30, 0xFE6F), (0xFF00, 0xFF60), (0xFFE0, 0xFFE6), (0x1F300, 0x1F64F), (0x1F680, 0x1F6FF),
        (0x1F900, 0x1FAFF), (0x20000, 0x3FFFD),
    ];

    /// <summary>The width of a text in cells.</summary>
    public static int Cells(ReadOnlySpan<char> text)
    {
        if (IsPlain(text))
        {
            return text.Length;
        }

        int cells = 0;
        foreach (Rune rune in text.EnumerateRunes())
        {
            cells += Cells(rune);
        }

        return cells;
    }

    /// <summary>The text if it fits into a number of cells, otherwise its beginning and an
    /// ellipsis.</summary>
    public static string Shorten(string text, int cells)
    {
        if (text.Length <= cells && IsPlain(text))
        {
            return text;
        }

        int end = EndOf(text, cells);
        return end == text.Length ? text
            : cells <= 1 ? Ellipsis
            : string.Concat(text.AsSpan(0, EndOf(text, cells - 1)), Ellipsis);
    }

    /// <summary>A name without control characters if it fits into a number of cells, otherwise its beginning,
    /// an ellipsis and its end, because long names often differ only at the end.</summary>
    public static string ShortenName(string name, int cells)
    {
        name = Neutral(name, MaxName);
        if (cells < 3 || Cells(name) <= cells)
        {
            return Shorten(name, cells);
        }

        int tail = (cells - 1) / 2;
        return string.Concat(
            name.AsSpan(0, EndOf(name, cells - 1 - tail)), Ellipsis, name.AsSpan(StartOf(name, tail)));
    }

    /// <summary>The text in lines of a maximum number of cells, broken at spaces if possible.</summary>
    public static IEnumerable<string> Wrap(string text, int cells)
    {
        int start = 0;
        while (start < text.Length)
        {
            int end = start + Math.Max(1, EndOf(text.AsSpan(start), cells));
            if (end < text.Length && text.LastIndexOf(' ', end, end - start) is var space && space > start)
            {
                yield return text[start..space];
                start = space + 1;
            }
            else
            {
                end += end < text.Length && char.IsLowSurrogate(text[end]) ? 1 : 0;
                yield return text[start..end];
                start = end;
            }
        }
    }

    /// <summary>Adds text without anything that a terminal obeys or hides: control characters, characters
    /// that turn lines around or have no width, and halves of surrogates are written as JSON and .NET write
    /// them.</summary>
    /// <param name="text">Receives the text.</param>
    /// <param name="value">The text.</param>
    /// <param name="most">How many characters are written at most, give or take the length of an
    /// escape.</param>
    /// <param name="quoted">Whether quotes and backslashes are escaped, as between quotes.</param>
    /// <returns>Whether all of it was written.</returns>
    public static bool Append(StringBuilder text, ReadOnlySpan<char> value, int most, bool quoted)
    {
        int limit = text.Length + most;
        while (!value.IsEmpty)
        {
            if (text.Length >= limit)
            {
                return false;
            }

            bool isWhole = Rune.DecodeFromUtf16(value, out Rune rune, out int length)
                == System.Buffers.OperationStatus.Done;
            if (!isWhole)
            {
                text.Append(CultureInfo.InvariantCulture, $"\\u{(int)value[0]:X4}");
            }
            else if (quoted && rune.Value is '"' or '\\')
            {
                text.Append('\\').Append(value[0]);
            }
            else if (IsHidden(rune))
            {
                AppendEscape(text, value[..length]);
            }
            else
            {
                text.Append(value[..length]);
            }

            value = value[length..];
        }

        return true;
    }

    /// <summary>Whether a text has characters that a terminal obeys or hides, other than tabs and ends of
    /// lines.</summary>
    public static bool HasHidden(string text) =>
        text.EnumerateRunes().Any(rune => IsHidden(rune) && rune.Value is not ('\t' or '\r' or '\n'));

    /// <summary>The text in one line, without characters that a terminal executes or hides.</summary>
    public static string Neutral(string value, int most)
    {
        if (value.Length <= most && IsPlain(value))
        {
            return value;
        }

        StringBuilder text = new();
        return Append(text, value, most, quoted: false) ? text.ToString() : text.Append(Ellipsis).ToString();
    }

    private static bool IsPlain(ReadOnlySpan<char> text) => text.IndexOfAnyExceptInRange(' ', '~') < 0;

    private static void AppendEscape(StringBuilder text, ReadOnlySpan<char> value)
    {
        foreach (char c in value)
        {
            _ = c switch
            {
                '\n' => text.Append("\\n"),
                '\r' => text.Append("\\r"),
                '\t' => text.Append("\\t"),
                _ => text.Append(CultureInfo.InvariantCulture, $"\\u{(int)c:X4}"),
            };
        }
    }

    private static bool IsHidden(Rune rune) => !rune.IsAscii
        ? Rune.GetUnicodeCategory(rune) is UnicodeCategory.Control or UnicodeCategory.Format
            or UnicodeCategory.LineSeparator or UnicodeCategory.ParagraphSeparator
        : rune.Value is < ' ' or 0x7F;

    private static int Cells(Rune rune) => rune.IsAscii
        ? 1
        : Rune.GetUnicodeCategory(rune) is UnicodeCategory.NonSpacingMark or UnicodeCategory.EnclosingMark
            ? 0
            : Array.Exists(Wide, range => rune.Value >= range.First && rune.Value <= range.Last) ? 2 : 1;

    // Returns the end of the text that fits into a number of cells.
    private static int EndOf(ReadOnlySpan<char> text, int cells)
    {
        int end = 0;
        while (end < text.Length)
        {
            Rune.DecodeFromUtf16(text[end..], out Rune rune, out int length);
            cells -= Cells(rune);
            if (cells < 0)
            {
                break;
            }

            end += length;
        }

        return end;
    }

    // Returns the start of the last part of the text that fits into a number of cells.
    private static int StartOf(ReadOnlySpan<char> text, int cells)
    {
        int start = text.Length;
        while (start > 0)
        {
            Rune.DecodeLastFromUtf16(text[..start], out Rune rune, out int length);
            cells -= Cells(rune);
            if (cells < 0)
            {
                break;
            }

            start -= length;
        }

        return start;
    }
}

/// <summary>The escape sequences for the parts of a view. PowerShell removes them if it shows no
/// colours.</summary>
/// <param name="Header">Begins the header of a table.</param>
/// <param name="Label">Begins the label of a line.</param>
/// <param name="Quiet">Begins a remark about a value: that it is absent or omitted.</param>
/// <param name="Keyword">Begins a word of the .proto language.</param>
/// <param name="Comment">Begins a comment.</param>
/// <param name="Reset">Ends all of them.</param>
internal sealed record ViewStyle(
    string Header, string Label, string Quiet, string Keyword, string Comment, string Reset)
{
    /// <summary>Without colours.</summary>
    public static ViewStyle Plain { get; } = new("", "", "", "", "", "");

    public string InQuiet(string text) => $"{Quiet}{text}{Reset}";
}

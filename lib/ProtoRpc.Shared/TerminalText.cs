using System.Collections.ObjectModel;
using System.Text;

namespace ProtoRpc;

/// <summary>Makes text of a peer, a schema or a page safe for a terminal: it cannot move the cursor, change
/// colours, ring the bell or reverse a line.</summary>
public static class TerminalText
{
    /// <summary>Replaces control characters (C0, DEL, C1), bidirectional controls and line separators by
    /// their numbers, such as <c>\u001B</c>. Line feeds, also after a carriage return, and tabs are
    /// kept.</summary>
    public static string Neutralize(string? text)
    {
        if (string.IsNullOrEmpty(text))
        {
            return "";
        }

        int first = 0;
        while (first < text.Length && !IsControl(text, first))
        {
            first++;
        }

        if (first == text.Length)
        {
            return text;
        }

        StringBuilder shown = new(text, 0, first, text.Length + 16);
        for (int i = first; i < text.Length; i++)
        {
            if (IsControl(text, i))
            {
                shown.Append($"\\u{(int)text[i]:X4}");
            }
            else
            {
                shown.Append(text[i]);
            }
        }

        return shown.ToString();
    }

    /// <summary>Neutralizes text for one line, and cuts it to a length. Line feeds and tabs are also
    /// replaced, for example by <c>\u000A</c>.</summary>
    internal static string OneLine(string? text, int maxLength)
    {
        if (text is not null && text.Length > maxLength)
        {
            text = string.Concat(text.AsSpan(0, maxLength - 3), "...");
        }

        string line = Neutralize(text);
        return line.AsSpan().ContainsAny('\r', '\n', '\t')
            ? line.Replace("\r", "\\u000D", StringComparison.Ordinal)
                .Replace("\n", "\\u000A", StringComparison.Ordinal)
                .Replace("\t", "\\u0009", StringComparison.Ordinal)
            : line;
    }

    internal static IReadOnlyDictionary<string, string> Neutralize(IReadOnlyDictionary<string, string> texts)
    {
        ArgumentNullException.ThrowIfNull(texts);
        if (texts.All(pair => IsNeutral(pair.Key) && IsNeutral(pair.Value)))
        {
            return texts;
        }

        Dictionary<string, string> neutral = new(StringComparer.Ordinal);
        foreach ((string name, string value) in texts)
        {
            neutral[Neutralize(name)] = Neutralize(value);
        }

        return neutral;
    }

    private static bool IsNeutral(string text) => ReferenceEquals(text, Neutralize(text)) || text.Length == 0;

    private static bool IsControl(string text, int index) => text[index] switch
    {
        '\n' or '\t' => false,
        // A single carriage return would let the rest of the line overwrite its beginning.
        '\r' => index + 1 == text.Length || text[index + 1] != '\n',
        < ' ' or (>= '\u007F' and <= '\u009F') => true,
        // Unicode's Bidi_Control characters, and separators at which some terminals break lines.
        '\u061C' or '\u200E' or '\u200F' or (>= '\u2028' and <= '\u202E')
            or (>= '\u2066' and <= '\u2069') => true,
        _ => false,
    };
}

/// <summary>A list of a result whose text is that of its items, so that a cell of a table or of a CSV file
/// shows them, and not the type of the list.</summary>
internal sealed class ReadableList<T>(IList<T> items) : ReadOnlyCollection<T>(items)
{
    /// <inheritdoc/>
    public override string ToString() => string.Join(", ", this);
}

using System.Globalization;
using System.Management.Automation.Language;
using System.Text;
using ProtoRpc.Messages.Mapping;

namespace ProtoRpc.PowerShell.Completion;

/// <summary>Writes values as PowerShell source text that only evaluates to these values. Tab and Enter insert
/// and run what completers offer, so everything from a schema or a peer is written here.</summary>
internal static class ScriptLiteral
{
    private const string Rfc3339 = "yyyy-MM-dd'T'HH:mm:ss.FFFFFFF'Z'";

    /// <summary>A value as an expression: constants, arrays and hashtables of constants.</summary>
    public static string Format(object? value) => value switch
    {
        null => "$null",
        string text => OfText(text),
        bool flag => flag ? "$true" : "$false",
        byte[] { Length: 0 } => "''",
        byte[] bytes => OfText(BytesReader.TextOf(bytes)),
        IDictionary { Count: 0 } => "@{}",
        IDictionary dictionary => Table(Entries(dictionary)),
        IEnumerable list => $"@({string.Join(", ", list.Cast<object?>().Select(Format))})",
        // Infinity and NaN have no literal: as bare words they would be commands.
        double number when !double.IsFinite(number) => OfText(number.ToString(CultureInfo.InvariantCulture)),
        float number when !float.IsFinite(number) => OfText(number.ToString(CultureInfo.InvariantCulture)),
        int or uint or long or ulong or float or double =>
            ((IFormattable)value).ToString(null, CultureInfo.InvariantCulture),
        DateTimeOffset time => OfText(time.UtcDateTime.ToString(Rfc3339, CultureInfo.InvariantCulture)),
        IFormattable formattable => OfText(formattable.ToString(null, CultureInfo.InvariantCulture)),
        _ => OfText(value.ToString() ?? ""),
    };

    /// <summary>A text as an argument of a command: bare if it is a plain word, otherwise in
    /// quotes.</summary>
    public static string Argument(string text) =>
        text.Length > 0 && (char.IsAsciiLetter(text[0]) || text[0] == '_')
            && text.All(c => char.IsAsciiLetterOrDigit(c) || c is '.' or '_' or '/' or '-')
            ? text
            : OfText(text);

    /// <summary>A hashtable of expressions.</summary>
    public static string Table(IEnumerable<KeyValuePair<object, string>> entries) =>
        $"@{{ {string.Join("; ", entries.Select(entry => $"{Key(entry.Key)} = {entry.Value}"))} }}";

    private static IEnumerable<KeyValuePair<object, string>> Entries(IDictionary dictionary)
    {
        foreach (DictionaryEntry entry in dictionary)
        {
            yield return KeyValuePair.Create(entry.Key, Format(entry.Value));
        }
    }

    /// <summary>A key of a hashtable: bare if it is a plain word, otherwise quoted.</summary>
    public static string Key(object key) => key is string name && IsWord(name) ? name : Format(key);

    private static bool IsWord(string text) => text.Length > 0 && !char.IsAsciiDigit(text[0])
        && text.All(c => char.IsAsciiLetterOrDigit(c) || c == '_');

    // PowerShell also ends a single-quoted text at U+2018 to U+201B; its own escaping handles these.
    private static string OfText(string text) => text.EnumerateRunes().All(IsPrintable)
        ? $"'{CodeGeneration.EscapeSingleQuotedStringContent(text)}'"
        : $"\"{string.Concat(text.EnumerateRunes().Select(Escape))}\"";

    // Printable ASCII that has no meaning in double quotes is kept. Every other character is written by its
    // number.
    private static string Escape(Rune rune) => rune.Value is >= ' ' and <= '~' and not ('"' or '$' or '`')
        ? rune.ToString()
        : $"`u{{{rune.Value:X}}}";

    private static bool IsPrintable(Rune rune) => Rune.GetUnicodeCategory(rune) is not (
        UnicodeCategory.Control or UnicodeCategory.Format or UnicodeCategory.LineSeparator
        or UnicodeCategory.ParagraphSeparator or UnicodeCategory.PrivateUse
        or UnicodeCategory.OtherNotAssigned);
}

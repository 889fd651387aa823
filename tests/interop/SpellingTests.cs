using System.Diagnostics;
using System.Text.RegularExpressions;
using ProtoRpc.Tests;

namespace ProtoRpc.Interop;

/// <summary>The words of the pages are English, or in the project's own list.</summary>
public static partial class SpellingTests
{
    [PeerFact(Peer.Hunspell)]
    public static async Task The_pages_have_no_unknown_words()
    {
        Dictionary<string, string> pages = Repository.Files("*.md", "docs", "examples", "tests").ToDictionary(
            page => page, page => Words(File.ReadAllText(Path.Combine(Repository.Root, page))));

        HashSet<string> unknown = [.. await UnknownAsync(string.Join('\n', pages.Values))];
        string[] found =
        [
            .. pages.SelectMany(page => Word().Matches(page.Value).Select(word => word.Value)
                .Where(unknown.Contains).Distinct().Select(word => $"{page.Key}: {word}")),
        ];

        Assert.True(pages.Count > 50, $"Only {pages.Count} pages were found.");
        Assert.True(
            found.Length == 0,
            $"Correct these words, or add them to docs/words.txt:\n{string.Join('\n', found)}");
    }

    [PeerFact(Peer.Hunspell)]
    public static async Task Wrong_words_are_found_and_listed_ones_are_not() =>
        Assert.Equal(["liestener"], await UnknownAsync("A liestener has a keytab and a hashtable."));

    [Fact]
    public static void The_list_is_sorted_and_has_no_word_twice()
    {
        string[] words = File.ReadAllLines(Path.Combine(Repository.Root, "docs", "words.txt"));

        Assert.Equal(words.Distinct().Order(StringComparer.Ordinal), words);
    }

    [Theory]
    [InlineData("Pass `-Limitz` to it", "Pass to it")]
    [InlineData("See [a page](http://hoszt/paaage.md) now", "See a page now")]
    [InlineData("a\n```text\nqwert\n```\nb", "a b")]
    [InlineData("Use RpcLimits.MaxBytes and about_Foo_Bar in x.md", "Use and in")]
    public static void Only_prose_is_read(string text, string words) =>
        Assert.Equal(words, string.Join(' ', Word().Matches(Words(text)).Select(word => word.Value)));

    private static async Task<string[]> UnknownAsync(string text)
    {
        // The list has words in lower case, and stands for their names and genitives as well.
        HashSet<string> known = [.. File.ReadAllLines(Path.Combine(Repository.Root, "docs", "words.txt"))];
        ProcessStartInfo start = new("hunspell", ["-d", "en_US", "-i", "utf-8", "-l"])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
        };
        using Process process = Process.Start(start)!;
        Task<string> output = process.StandardOutput.ReadToEndAsync();
        await process.StandardInput.WriteAsync(string.Join('\n', Word().Matches(text)
            .Select(word => word.Value.Replace('’', '\'')).Distinct()));
        process.StandardInput.Close();
        string[] unknown = (await output).Split('\n', StringSplitOptions.RemoveEmptyEntries);
        return [.. unknown.Where(word => !known.Contains(Genitive().Replace(word.ToLowerInvariant(), "")))
            .Distinct()];
    }

    // Without code, addresses, and names: of parameters, files, types, and what has digits or signs in it.
    private static string Words(string text)
    {
        string prose = NotProse().Replace(text.ReplaceLineEndings("\n"), " ");
        return Name().Replace(prose, " ");
    }

    [GeneratedRegex("""
        ^---\n.*?^---\n|^[ ]*```.*?^[ ]*```|^[ ]{4,}.*?$|`[^`\n]*`|\]\([^)\n]*\)|<[^>\n]*>|\w+://\S+
        """, RegexOptions.Singleline | RegexOptions.Multiline | RegexOptions.IgnorePatternWhitespace)]
    private static partial Regex NotProse();

    [GeneratedRegex(
        @"\S*[\w][\d_./\\:@=$#\-]+[\w]\S*|(?<![\w])-\w+"
        + @"|\b\w*[a-z][A-Z]\w*|\b[A-Z]{2,}\w*\b|\w*\d\w*")]
    private static partial Regex Name();

    [GeneratedRegex("'s$")]
    private static partial Regex Genitive();

    [GeneratedRegex(@"\b[A-Za-z][A-Za-z'’]+\b|\b[a-z]\b")]
    private static partial Regex Word();
}

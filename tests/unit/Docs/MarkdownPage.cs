using System.Text;
using System.Text.RegularExpressions;

namespace ProtoRpc.Tests.Docs;

/// <summary>A page in Markdown: its headings, links and blocks of code.</summary>
internal sealed partial class MarkdownPage
{
    private const string Fence = "```";

    public MarkdownPage(string path, string text)
    {
        Path = path;
        StringBuilder prose = new();
        string? language = null;
        bool isCode = false;
        foreach (string line in text.ReplaceLineEndings("\n").Split('\n'))
        {
            string start = line.TrimStart();
            if (start.StartsWith(Fence, StringComparison.Ordinal))
            {
                language = isCode ? null : start[Fence.Length..].Trim();
                if (!isCode)
                {
                    Languages.Add(language!);
                }

                isCode = !isCode;
            }

            // Lines of code stay as empty ones, so that the numbers of lines hold.
            bool isProse = !isCode && !start.StartsWith(Fence, StringComparison.Ordinal);
            prose.Append(isProse ? line : "").Append('\n');
        }

        IsOpen = isCode;
        Prose = prose.ToString();
        Anchors = [.. AnchorsOf(Heading().Matches(Prose).Select(match => match.Groups["text"].Value))];
    }

    /// <summary>The page's file, from the repository's root on.</summary>
    public string Path { get; }

    /// <summary>The text without blocks of code.</summary>
    public string Prose { get; }

    /// <summary>What follows the fence of each block of code; empty for a block without a language.</summary>
    public List<string> Languages { get; } = [];

    /// <summary>Whether the last block of code has no end.</summary>
    public bool IsOpen { get; }

    /// <summary>The anchors that GitHub gives the headings.</summary>
    public HashSet<string> Anchors { get; }

    /// <summary>The targets of the links and pictures, without those inside of inline code.</summary>
    public IEnumerable<(int Line, string Target)> Links =>
        Link().Matches(InlineCode().Replace(Prose, match => new string(' ', match.Length)))
            .Select(match => (LineAt(match.Index), match.Groups["target"].Value));

    private int LineAt(int index) => Prose.AsSpan(0, index).Count('\n') + 1;

    private static IEnumerable<string> AnchorsOf(IEnumerable<string> headings)
    {
        Dictionary<string, int> seen = [];
        foreach (string heading in headings)
        {
            string shown = LinkText().Replace(heading.Trim().ToLowerInvariant(), "${text}");
            string anchor = NotInAnchor().Replace(shown, "").Replace(' ', '-');
            int count = seen[anchor] = seen.GetValueOrDefault(anchor) + 1;
            yield return count == 1 ? anchor : $"{anchor}-{count - 1}";
        }
    }

    [GeneratedRegex(@"^#{1,6} (?<text>.+)$", RegexOptions.Multiline)]
    private static partial Regex Heading();

    [GeneratedRegex(@"\[(?:[^\[\]]|\[[^\]]*\])*\]\((?<target>[^()\s]+(?:\([^()\s]*\))?)\)")]
    private static partial Regex Link();

    [GeneratedRegex("`[^`\n]+`")]
    private static partial Regex InlineCode();

    [GeneratedRegex(@"\[(?<text>[^\]]*)\]\([^)]*\)")]
    private static partial Regex LinkText();

    [GeneratedRegex(@"[^\w\- ]")]
    private static partial Regex NotInAnchor();
}

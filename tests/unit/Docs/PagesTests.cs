using System.Text.RegularExpressions;

namespace ProtoRpc.Tests.Docs;

/// <summary>All pages in Markdown: their links lead somewhere, their blocks of code name a
/// language, and the index lists them.</summary>
public static partial class PagesTests
{
    private static readonly string[] Folders = ["docs", "examples", "tests", "lib", "cmdlets"];

    // The recipes have an index of their own.
    private const string RecipeIndex = "docs/recipes/README.md";

    // The languages that GitHub colours, and text for output.
    private static readonly string[] Languages =
    [
        "bash", "console", "csharp", "diff", "dockerfile", "fish", "ini", "javascript", "json", "nginx",
        "powershell", "proto", "python", "sh", "text", "xml", "yaml", "zsh",
    ];

    private static readonly Dictionary<string, string> Texts = Repository.Files("*.md", Folders).ToDictionary(
        file => file,
        file => File.ReadAllText(Path.Combine(Repository.Root, file)).ReplaceLineEndings("\n"));

    private static readonly Dictionary<string, MarkdownPage> Pages = Texts.ToDictionary(
        page => page.Key, page => new MarkdownPage(page.Key, page.Value));

    [Fact]
    public static void Links_lead_to_files_and_headings_that_exist()
    {
        Assert.True(Pages.Count > 50, $"Only {Pages.Count} pages were found.");
        Assert.True(Pages.Values.Sum(page => page.Links.Count()) > 100, "Only few links were found.");

        Assert.Empty(Pages.Values.SelectMany(page => page.Links
            .Select(link => (link.Line, Wrong: WhatIsWrong(page.Path, link.Target)))
            .Where(link => link.Wrong is not null)
            .Select(link => $"{page.Path}:{link.Line}: {link.Wrong}")));
    }

    [Fact]
    public static void Blocks_of_code_have_an_end_and_a_language_that_is_known()
    {
        Assert.Empty(Pages.Values.SelectMany(page => LanguagesOf(page)
            .Where(language => !Languages.Contains(language))
            .Select(language => $"{page.Path}: a block of code has the language '{language}'. "
                + $"Use one of {string.Join(", ", Languages)}.")));
        Assert.Empty(Pages.Values.Where(page => page.IsOpen).Select(page => page.Path));
    }

    [Fact]
    public static void The_index_has_every_page_of_the_documentation()
    {
        string[] linked =
        [
            .. Pages["docs/README.md"].Links.Select(link => $"docs/{link.Target.Split('#')[0]}"),
        ];

        // The pages of cmdlets are listed in docs/en-US/ProtoRpc.md, as PlatyPS needs it.
        Assert.Empty(Pages.Keys
            .Where(page => page.StartsWith("docs/", StringComparison.Ordinal) && page != "docs/README.md"
                && !page.StartsWith("docs/benchmarks/", StringComparison.Ordinal) && !IsOfCmdlet(page)
                && !IsRecipe(page))
            .Except(linked));
        Assert.Empty(Pages.Keys.Where(IsRecipe)
            .Except(Pages[RecipeIndex].Links.Select(link => $"docs/recipes/{link.Target}")));
        Assert.Empty(Pages.Keys.Where(IsOfCmdlet)
            .Except(Pages["docs/en-US/ProtoRpc.md"].Links.Select(link => $"docs/en-US/{link.Target}")));
    }

    [Theory]
    [InlineData("# A `code` heading, with 2 words\n", "a-code-heading-with-2-words")]
    [InlineData("# Two\n\n## Two\n", "two-1")]
    [InlineData("# -Limits and [a link](x.md)\n", "-limits-and-a-link")]
    public static void Anchors_are_those_of_GitHub(string text, string anchor) =>
        Assert.Contains(anchor, new MarkdownPage("x.md", text).Anchors);

    [Fact]
    public static void Reads_links_outside_of_code_only()
    {
        MarkdownPage page = new("x.md", """
            [a](one.md) and `[b](two.md)`, [![picture](three.png)](four.md)
            ```csharp
            [c](five.md)
            ```
            [d](six.md#part)
            """);

        Assert.Contains((1, "one.md"), page.Links);
        Assert.Contains((1, "four.md"), page.Links);
        Assert.Contains((5, "six.md#part"), page.Links);
        Assert.Equal(3, page.Links.Count());
        Assert.Equal(["csharp"], page.Languages);
        Assert.True(new MarkdownPage("x.md", "```\n").IsOpen);
    }

    [Theory]
    [InlineData("nowhere.md", "'nowhere.md' does not exist")]
    [InlineData("#nowhere", "'README.md' has no heading for '#nowhere'")]
    [InlineData("docs/architecture.md#nowhere", "'docs/architecture.md' has no heading for '#nowhere'")]
    [InlineData("docs/architecture.md#rooms", null)]
    [InlineData("docs", null)]
    [InlineData("https://example.com/x.md", null)]
    public static void Says_what_is_wrong_with_a_link(string target, string? wrong) =>
        Assert.Equal(wrong, WhatIsWrong("README.md", target));

    private static bool IsOfCmdlet(string page) =>
        page.StartsWith("docs/en-US/", StringComparison.Ordinal)
        && page.Contains("-Rpc", StringComparison.Ordinal);

    private static bool IsRecipe(string page) =>
        page.StartsWith("docs/recipes/", StringComparison.Ordinal) && page != RecipeIndex;

    // What other hosts have is not asked: tests need no network.
    private static string? WhatIsWrong(string from, string target)
    {
        if (Uri.TryCreate(target, UriKind.Absolute, out Uri? address)
            && address.Scheme is "http" or "https" or "mailto")
        {
            return null;
        }

        string[] parts = target.Split('#', 2);
        string file = parts[0].Length == 0 ? from : Path.GetRelativePath(
            Repository.Root,
            Path.Combine(Repository.Root, Path.GetDirectoryName(from)!, Uri.UnescapeDataString(parts[0])))
            .Replace('\\', '/');
        return !Path.Exists(Path.Combine(Repository.Root, file)) ? $"'{file}' does not exist"
            : parts.Length == 2 && Pages.TryGetValue(file, out MarkdownPage? page)
                && !page.Anchors.Contains(parts[1]) ? $"'{file}' has no heading for '#{parts[1]}'"
            : null;
    }

    // PlatyPS writes the syntax of a cmdlet without a language.
    private static IEnumerable<string> LanguagesOf(MarkdownPage page) =>
        new MarkdownPage(page.Path, Syntax().Replace(Texts[page.Path], "")).Languages;

    [GeneratedRegex("^## SYNTAX\n.*?(?=^## )", RegexOptions.Singleline | RegexOptions.Multiline)]
    private static partial Regex Syntax();
}

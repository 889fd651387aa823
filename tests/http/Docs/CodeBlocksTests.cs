using System.Text.RegularExpressions;
using ProtoRpc.Tests;

namespace ProtoRpc.Http.Tests.Docs;

/// <summary>The blocks of C# in the pages are the code between the marks in this folder, which is compiled
/// and run.</summary>
public static partial class CodeBlocksTests
{
    // What a page shows for what a sample needs.
    private static readonly (string Code, string Shown)[] Names =
    [
        ("            address,", "            \"grpcs://shop:443\","),
        ("ConnectAsync(local)", "ConnectAsync(\"grpc://127.0.0.1:50051\")"),
        ("ConnectAsync(address,", "ConnectAsync(\"grpcs://shop:443\","),
        ("AddEndpoint(address)", "AddEndpoint(\"grpc://127.0.0.1:50051\")"),
        ("AddEndpoint(web)", "AddEndpoint(\"http://127.0.0.1:8081/\")"),
        ("return app;", "app.Run();"),
    ];

    private static readonly string[] Samples = [.. Directory.EnumerateFiles(
        Path.Combine(Repository.Root, "tests", "http", "Docs"), "*.cs", SearchOption.AllDirectories)
        .SelectMany(file => Sample().Matches(File.ReadAllText(file).ReplaceLineEndings("\n")))
        .Select(match => Unindent(Names.Aggregate(
            match.Groups["code"].Value, (text, name) => text.Replace(name.Code, name.Shown))))];

    public static TheoryData<string> Pages => [.. PagesWithCode()];

    [Theory]
    [MemberData(nameof(Pages))]
    public static void Every_block_is_a_sample(string page)
    {
        string text = File.ReadAllText(Path.Combine(Repository.Root, page)).ReplaceLineEndings("\n");

        Assert.All(
            Blocks().Matches(text).Select(match => match.Groups["code"].Value.Trim()),
            block => Assert.Contains(block, Samples));
    }

    [Fact]
    public static void Every_sample_is_in_a_page()
    {
        string all = string.Concat(PagesWithCode().Select(
            page => File.ReadAllText(Path.Combine(Repository.Root, page)).ReplaceLineEndings("\n")));

        Assert.True(Samples.Length > 15, $"There are only {Samples.Length} samples.");
        Assert.All(Samples, sample => Assert.Contains($"```csharp\n{sample}\n```", all));
    }

    private static IEnumerable<string> PagesWithCode() =>
        Directory.EnumerateFiles(Path.Combine(Repository.Root, "docs"), "*.md", SearchOption.AllDirectories)
            .Append(Path.Combine(Repository.Root, "README.md"))
            .Where(page => Blocks().IsMatch(File.ReadAllText(page).ReplaceLineEndings("\n")))
            .Select(page => Path.GetRelativePath(Repository.Root, page));

    /// <summary>The code without blank lines around it, and without the indent that all lines have.</summary>
    internal static string Unindent(string code)
    {
        string[] lines = code.ReplaceLineEndings("\n").Split('\n');
        int indent = lines.Where(line => line.Trim().Length > 0)
            .Min(line => line.Length - line.TrimStart().Length);
        return string.Join('\n', lines.Select(line => line.Length < indent ? "" : line[indent..].TrimEnd()))
            .Trim();
    }

    [GeneratedRegex("```csharp\n(?<code>.*?)```", RegexOptions.Singleline)]
    private static partial Regex Blocks();

    [GeneratedRegex("// <(?<name>[a-z]+)>\n(?<code>.*?)// </\\k<name>>", RegexOptions.Singleline)]
    private static partial Regex Sample();
}

using System.Text.RegularExpressions;
using ProtoRpc.Tests;
using Shop;

namespace ProtoRpc.Http.Tests.Docs.Stubs;

/// <summary>Runs the code of docs/recipes/csharp-stubs.md, and compares what it writes with the
/// page.</summary>
public static partial class RecipeSamplesTests
{
    [Fact]
    public static async Task A_generated_class_is_called_on_four_transports()
    {
        PlaceRequest request = new() { Order = new Order { Id = "o1", Items = { "tea", "cups" } } };
        string page = await File.ReadAllTextAsync(
            Path.Combine(Repository.Root, "docs", "recipes", "csharp-stubs.md"),
            TestContext.Current.CancellationToken);
        string shown = Output().Match(page.ReplaceLineEndings("\n")).Groups["text"].Value;

        string[] lines = await RecipeSamples.ServeAsync(request, TestContext.Current.CancellationToken);

        Assert.Equal(4, lines.Length);
        Assert.Equal(WithoutPorts(shown).Trim(), WithoutPorts(string.Join('\n', lines)));
    }

    private static string WithoutPorts(string text) => Port().Replace(text, "PORT");

    [GeneratedRegex("```text\n(?<text>.*?)```", RegexOptions.Singleline)]
    private static partial Regex Output();

    [GeneratedRegex(@"(?<=127\.0\.0\.1[:\[])\d+")]
    private static partial Regex Port();
}

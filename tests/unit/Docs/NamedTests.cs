using System.Text.RegularExpressions;

namespace ProtoRpc.Tests.Docs;

/// <summary>The numbered rows of a page, each of which names a test that shows what it says.</summary>
internal static partial class NamedTests
{
    /// <summary>Fails unless the rows are numbered from 1 on, and each names a test that exists.</summary>
    public static void AssertRows(string page, int count)
    {
        string root = Repository.Root;
        string text = File.ReadAllText(Path.Combine(root, "docs", page));
        List<Match> rows = [.. Row().Matches(text).Cast<Match>()];

        Assert.Equal(Enumerable.Range(1, count), rows.Select(row => int.Parse(row.Groups["number"].Value)));
        Assert.Distinct(rows.Select(row => $"{row.Groups["file"].Value} {row.Groups["test"].Value}"));
        Assert.All(rows, row =>
        {
            string test = row.Groups["test"].Value;
            string source = File.ReadAllText(Path.Combine(root, row.Groups["file"].Value));
            Assert.True(
                source.Contains($" {test}(", StringComparison.Ordinal)
                || source.Contains($"It '{test}'", StringComparison.Ordinal),
                $"{row.Groups["file"].Value} has no test '{test}'.");
        });
    }

    [GeneratedRegex(
        @"^\| (?<number>\d+) \|.*\| `(?<file>[^`]+)`: (?<test>[^|]+) \|\r?$", RegexOptions.Multiline)]
    private static partial Regex Row();
}

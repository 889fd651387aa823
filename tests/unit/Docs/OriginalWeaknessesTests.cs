using System.Text.RegularExpressions;

namespace ProtoRpc.Tests.Docs;

public static partial class OriginalWeaknessesTests
{
    private const int Weaknesses = 29;

    [Fact]
    public static void Each_weakness_of_the_original_names_a_test_that_is_there()
    {
        string root = Repository.Root;
        string page = File.ReadAllText(Path.Combine(root, "docs", "original-weaknesses.md"));
        List<Match> rows = [.. Row().Matches(page).Cast<Match>()];

        Assert.Equal(
            Enumerable.Range(1, Weaknesses), rows.Select(row => int.Parse(row.Groups["number"].Value)));
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

using ProtoRpc.Tests.Compatibility;

namespace ProtoRpc.Tests.Docs;

/// <summary>The rules of docs/compatibility.md are those that the tests find.</summary>
public static class CompatibilityPageTests
{
    private static readonly Dictionary<string, string[]> Rows =
        File.ReadAllLines(Path.Combine(Repository.Root, "docs", "compatibility.md"))
            .SkipWhile(line => !line.StartsWith("| rule |", StringComparison.Ordinal)).Skip(2)
            .TakeWhile(line => line.StartsWith('|'))
            .Select(line => line.Trim().Trim('|').Split('|', StringSplitOptions.TrimEntries))
            .ToDictionary(row => row[0].Trim('`'));

    [Fact]
    public static void Each_rule_has_a_row() =>
        Assert.Equal(Enum.GetNames<RpcBreakingRule>(), Rows.Keys);

    [Fact]
    public static void A_row_has_all_categories_and_rules_of_buf_that_are_found()
    {
        string[][] found =
        [
            .. SchemaChangeCases.All.SelectMany(change => change.Expected).Select(text => text.Split(" | ")),
        ];

        Assert.All(Rows, row =>
        {
            string[][] ofRule =
                [.. found.Where(text => text[0].Split(' ')[0] == row.Key)];

            Assert.Equal(All(ofRule, 1).Order(StringComparer.Ordinal), Words(row.Value[2]).Order(
                StringComparer.Ordinal));
            Assert.Equal(All(ofRule, 2).Order(StringComparer.Ordinal), Words(row.Value[3]).Order(
                StringComparer.Ordinal));
        });
    }

    private static IEnumerable<string> All(IEnumerable<string[]> found, int column) =>
        found.SelectMany(text => Words(text[column])).Distinct();

    private static IEnumerable<string> Words(string cell) => cell.Split(
        ',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries)
        .Select(word => word.Split(' ')[0].Trim('`'));
}

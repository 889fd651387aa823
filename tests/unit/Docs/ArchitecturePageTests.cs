using System.Text.RegularExpressions;
using ProtoRpc.Tests.Architecture;

namespace ProtoRpc.Tests.Docs;

/// <summary>docs/architecture.md names files that are there, and the arrows that are tested.</summary>
public static partial class ArchitecturePageTests
{
    private static readonly string Page =
        File.ReadAllText(Path.Combine(Repository.Root, "docs", "architecture.md"));

    [Fact]
    public static void Every_file_and_folder_that_the_page_names_is_there()
    {
        string[] named =
            [.. Paths().Matches(Page).Select(match => match.Groups["path"].Value).Distinct()];

        Assert.True(named.Length > 30, $"The page names only {named.Length} files.");
        Assert.All(named, path => Assert.True(
            Path.Exists(Path.Combine(Repository.Root, path)),
            $"docs/architecture.md names '{path}', which does not exist."));
    }

    [Fact]
    public static void The_table_of_rooms_is_the_plan_that_is_tested()
    {
        Dictionary<string, string[]> table = Rows().Matches(Page).ToDictionary(
            row => row.Groups["room"].Value, row => row.Groups["uses"].Value.Split(", "));
        string[] rooms =
        [
            .. Directory.GetDirectories(Path.Combine(Repository.Root, "lib", "ProtoRpc"))
                .Select(folder => Path.GetFileName(folder)).Where(HousePlan.Sees.ContainsKey),
        ];

        Assert.Equal(rooms.Order(), table.Keys.Order());
        Assert.All(table, row => Assert.Equal(
            HousePlan.Sees[row.Key].Order(), All(row.Value).Distinct().Order()));

        IEnumerable<string> All(IEnumerable<string> seen) => seen.SelectMany(
            name => All(table.GetValueOrDefault(name, [])).Append(name));
    }

    [GeneratedRegex(@"`(?<path>(?:lib|cmdlets|tests|docs)/[^\s`]*|[A-Z][\w.]*\.(?:md|psd1|psm1))`")]
    private static partial Regex Paths();

    [GeneratedRegex(@"^\| `(?<room>[A-Z]\w*)` \|[^|]*\| (?<uses>[\w, ]+) \|$", RegexOptions.Multiline)]
    private static partial Regex Rows();
}

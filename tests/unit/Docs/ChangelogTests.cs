using System.Text.RegularExpressions;
using ProtoRpc.TestRun.Packing;

namespace ProtoRpc.Tests.Docs;

/// <summary>CHANGELOG.md, which is read before an update and is the release notes.</summary>
public static partial class ChangelogTests
{
    private const int LinesOfAVersion = 60;

    private static readonly string[] Versions =
        File.ReadAllText(Path.Combine(Repository.Root, "CHANGELOG.md")).ReplaceLineEndings("\n")
            .Split("\n## ")[1..];

    [Fact]
    public static void The_newest_version_is_the_one_of_the_module()
    {
        string manifest = Path.Combine(Repository.Root, "ProtoRpc.psd1");
        string version = ModuleManifest.Read(manifest).Value("ModuleVersion");

        Assert.StartsWith("[Unreleased]\n", Versions[0] + "\n", StringComparison.Ordinal);
        Assert.Matches($@"^\[{Regex.Escape(version)}\] - \d{{4}}-\d\d-\d\d\n", Versions[1]);
    }

    [Fact]
    public static void No_version_needs_more_than_a_screen_or_two() =>
        Assert.All(Versions, version => Assert.InRange(version.Split('\n').Length, 1, LinesOfAVersion));

    // Two branches that both rewrote a list, merged line by line, leave both lists.
    [Fact]
    public static void Entries_have_one_form_in_each_list() =>
        Assert.Empty(Versions.SelectMany(version => version.Split("\n### ")[1..])
            .Where(list => Entry().Matches(list) is var entries
                && entries.Any(entry => entry.Groups["subject"].Success)
                && !entries.All(entry => entry.Groups["subject"].Success))
            .Select(list => list.Split('\n')[0]));

    [GeneratedRegex(@"^- (?<subject>\*\*)?", RegexOptions.Multiline)]
    private static partial Regex Entry();
}

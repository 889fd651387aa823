using System.Text.RegularExpressions;
using System.Xml.Linq;

namespace ProtoRpc.Tests.Docs;

public static partial class SecurityPageTests
{
    [Fact]
    public static void Each_promise_names_a_test_that_is_there() =>
        NamedTests.AssertRows("security-promises.md", 65);

    [Fact]
    public static void Proofs_are_compared_in_constant_time()
    {
        string[] security = Sources(Path.Combine("lib", "ProtoRpc", "Security"));

        Assert.Contains(security, text => text.Contains("FixedTimeEquals(", StringComparison.Ordinal));
        Assert.DoesNotContain(security, text => text.Contains("SequenceEqual(", StringComparison.Ordinal));
    }

    // Such a pattern takes exponential time for some texts.
    [Fact]
    public static void No_pattern_repeats_a_repetition()
    {
        string[] all = Sources("lib");
        List<string> patterns = [.. all.SelectMany(text => Generated().Matches(text))
            .Select(match => match.Groups["pattern"].Value)];

        Assert.NotEmpty(patterns);
        Assert.DoesNotContain(patterns, pattern => Repeated().IsMatch(pattern));
        Assert.DoesNotContain(
            all, text => text.Contains("new Regex(", StringComparison.Ordinal)
                || text.Contains(" Regex.", StringComparison.Ordinal));
    }

    [Fact]
    public static void A_package_with_a_known_vulnerability_fails_the_build()
    {
        XElement build = XElement.Load(Path.Combine(Repository.Root, "Directory.Build.props"));

        Assert.Equal("true", Only(build, "NuGetAudit"));
        Assert.Equal("all", Only(build, "NuGetAuditMode"));
        Assert.Equal("low", Only(build, "NuGetAuditLevel"));
        Assert.Equal("true", Only(build, "TreatWarningsAsErrors"));
        // Not below the root itself: what tests build there may have a link to the whole file system.
        Assert.All(
            new[] { "cmdlets", "lib", "tests" }.SelectMany(folder => Directory.EnumerateFiles(
                Path.Combine(Repository.Root, folder), "*.csproj", SearchOption.AllDirectories)),
            project => Assert.DoesNotContain("NU190", File.ReadAllText(project), StringComparison.Ordinal));

        static string Only(XElement project, string property) =>
            Assert.Single(project.Descendants(property)).Value;
    }

    private static string[] Sources(string folder) =>
        [.. Directory.EnumerateFiles(
            Path.Combine(Repository.Root, folder), "*.cs", SearchOption.AllDirectories)
            .Where(file => !file.Contains($"{Path.DirectorySeparatorChar}obj{Path.DirectorySeparatorChar}"))
            .Select(File.ReadAllText)];

    [GeneratedRegex(
        """GeneratedRegex\(\s*@?(?<quotes>"+)(?<pattern>.*?)\k<quotes>\s*[,)]""", RegexOptions.Singleline)]
    private static partial Regex Generated();

    // A group that ends with an open repetition and is itself repeated, unless it begins with a sign of its
    // own, which tells its rounds apart.
    [GeneratedRegex(@"\((?>(?:\?:|\?<\w+>)?)(?!\\\.|,|;|/)[^()]*[*+]\)[*+]")]
    private static partial Regex Repeated();
}

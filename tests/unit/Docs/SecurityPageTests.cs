using System.Text.RegularExpressions;

namespace ProtoRpc.Tests.Docs;

public static partial class SecurityPageTests
{
    [Fact]
    public static void Each_promise_names_a_test_that_is_there() => NamedTests.AssertRows("security.md", 40);

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

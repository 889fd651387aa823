using ProtoRpc.TestRun.Windows;

namespace ProtoRpc.TestRun;

/// <summary>The suites, in the order in which they run, and which of them a run has.</summary>
internal sealed class TestSuites
{
    private const string Peers =
        "impacket, grpcio, Chromium and other programs, see tests/README.md; .ci/run installs them";

    // Without --suite, --all or --quick: the suites that only need NuGet packages.
    private static readonly string[] Default = ["style", "unit", "http", "peers", "pester"];
    private static readonly string[] Quick = ["style", "unit", "pester"];

    private TestSuites(IReadOnlyList<ITestSuite> all, Func<ITestSuite, bool> isWanted)
    {
        Wanted = [.. all.Where(isWanted)];
        Left = [.. all.Except(Wanted)];
    }

    /// <summary>The names of all suites.</summary>
    public static IReadOnlyCollection<string> Names { get; } =
        [.. Create("", new RunOptions(), null, null).Select(suite => suite.Name)];

    /// <summary>The suites that run.</summary>
    public IReadOnlyList<ITestSuite> Wanted { get; }

    /// <summary>The suites that do not run.</summary>
    public IReadOnlyList<ITestSuite> Left { get; }

    /// <summary>The projects to build before.</summary>
    public IReadOnlyList<string> Projects =>
        [.. Wanted.SelectMany(suite => suite.Projects).Distinct(StringComparer.Ordinal)];

    /// <exception cref="ArgumentException">A quick run names a cmdlet without tests.</exception>
    public static async Task<TestSuites> CreateAsync(string root, RunOptions options)
    {
        if (!options.IsQuick)
        {
            return new TestSuites(
                Create(root, options, null, null),
                options.All ? _ => true
                    : suite => (options.Suites.Count > 0 ? options.Suites : Default).Contains(suite.Name));
        }

        IReadOnlyList<string> changed = await ChangedTests.FindChangedAsync(root);
        IReadOnlyList<string> files = options.Cmdlets.Count > 0
            ? ChangedTests.OfCmdlets(root, options.Cmdlets)
            : ChangedTests.OfChanges(root, changed);
        return new TestSuites(
            Create(root, options, changed, files), suite => Quick.Contains(suite.Name));
    }

    private static IReadOnlyList<ITestSuite> Create(
        string root, RunOptions options, IReadOnlyList<string>? changed,
        IReadOnlyList<string>? pesterFiles) =>
        [
            new StyleSuite(root, changed),
            new PackSuite(root),
            new XunitSuite("unit", root, "tests/unit/ProtoRpc.Tests.csproj"),
            new PackedToolSuite(root),
            new XunitSuite("http", root, "tests/http/ProtoRpc.Http.Tests.csproj"),
            new XunitSuite("peers", root, "tests/peers/ProtoRpc.Peers.csproj"),
            new XunitSuite("interop", root, "tests/interop/ProtoRpc.Interop.csproj")
            {
                Needs = Peers, StartsPowerShell = true,
            },
            // Fuzzing and load tests find changes over weeks, not between commits.
            new ProgramSuite(
                "fuzz", root, "tests/fuzz/ProtoRpc.Fuzz.csproj", ["--seconds", options.IsLong ? "90" : "3"],
                "the input that ran is in artifacts/fuzz/*.running"),
            new ProgramSuite(
                "long-run", root, "tests/longrun/ProtoRpc.LongRun.csproj",
                options.IsLong ? ["--seconds", "90"] : ["--seconds", "30", "--cycles", "100"])
            {
                StartsPowerShell = true,
            },
            new TrimmedSuite(root),
            new WindowsSuite(root, options.IsLong),
            new PesterSuite(root, pesterFiles),
        ];
}

using System.Collections.Concurrent;
using ProtoRpc.Tool.Processes;
using ProtoRpc.WindowsTests;

namespace ProtoRpc.TestRun.Windows;

/// <summary>The tests of <c>unit</c>, <c>http</c> and <c>interop</c> built for Windows, run by Wine where
/// there is no Windows. They run in several processes, so that one that hangs or crashes costs the others
/// nothing.</summary>
/// <param name="root">The folder of the repository.</param>
/// <param name="isLong">Whether tests of code that is the same on all systems also run.</param>
internal sealed class WindowsSuite(string root, bool isLong) : ITestSuite
{
    private const string Project = "tests/windows/WindowsTests.csproj";
    private const string Unit = "ProtoRpc.Tests";
    private const string Http = "ProtoRpc.Http.Tests";
    private const string Interop = "ProtoRpc.Interop";
    private const string LongOnly = "tests/windows/only-in-long-runs.txt";

    // One Wine prefix for each. More than there are processors, because many tests wait.
    private static readonly int Workers = Environment.ProcessorCount + 1;

    // So few that starting programs takes little of the time, so many that the last parts end at the same
    // time.
    private const int Parts = 8;

    // Each of these processes starts all peers.
    private const int InteropParts = 3;

    // Of all other tests, exceptions or compiled expressions end or hang the process (seen with Wine 8).
    private static readonly string[] OldWine =
    [
        "Protocols.Dce", "Protocols.Http",
        "Protocols.Grpc.GrpcFramingTests", "Protocols.Grpc.GrpcHeaderTests",
        "Endpoints.EndpointFileWindowsTests", "Transports.Lrpc", "Transports.Messages",
        "Shared.RpcEndpointTests", "Shared.RpcStatusTableTests", "Shared.TerminalTextTests", "Tool",
    ];

    // Old versions of Wine need a program of winbind for NTLM, which may not be installed.
    private static readonly string[] OldNtlm = File.Exists("/usr/bin/ntlm_auth") ? ["Security.Sspi"] : [];

    private static readonly TimeSpan BuildLimit = TimeSpan.FromMinutes(10);

    public string Name => "windows";

    public string Needs => "wine 10, see tests/README.md, and the programs that interop needs";

    // On Windows, the other suites run these tests.
    public bool Exists => !OperatingSystem.IsWindows() && File.Exists(Path.Combine(root, Project));

    // In the repository's folder, because the tests find the repository's files from there.
    private string Folder => Path.Combine(root, "artifacts", "windows");

    public async Task<SuiteResult> RunAsync(string? filter)
    {
        (WineInstallation? wine, string whyNot) = await WineInstallation.FindAsync(root);
        if (wine is null)
        {
            return SuiteResult.Skipped(Name, filter is null ? 1 : 0, whyNot);
        }

        string program = Path.Combine(Folder, "program");
        ChildProcess.Result publish = await ChildProcess.RunAsync(
            "dotnet",
            [
                "publish", Project, "-r", "win-x64", "--self-contained", "-o", program,
                // The build of the solution has analysed the same sources.
                "--nologo", "-v", "q", "-p:RunAnalyzers=false",
            ],
            root,
            BuildLimit);
        if (!publish.Succeeded)
        {
            return SuiteResult.Empty(Name).WithFailure("windows: the build", publish.Text);
        }

        SuiteResult result = await RunAsync(wine, program, filter);
        if (result.Counts.Total == 0 && filter is null)
        {
            return result.WithFailure("windows: the whole run", "not one test ran");
        }

        if (filter is null && !isLong)
        {
            result = result.WithSkip(
                "windows: code that is the same on all systems",
                $"add '--long' to also run the tests of {LongOnly}; the suites of this system ran them");
        }

        return wine.RunsAll || filter is not null ? result : result.WithSkip(
            "windows: http, interop and most of unit",
            $"{wine.Version} cannot run them, Wine {WineInstallation.Needed} can. As root on Debian: "
            + $"export {WineInstallation.Variable}=$(tests/windows/make-root.sh)");
    }

    private async Task<SuiteResult> RunAsync(WineInstallation wine, string program, string? filter)
    {
        LeftOutTests exceptions = LeftOutTests.Read(
            File.ReadAllText(Path.Combine(root, "tests", "windows", "not-under-wine.txt")));
        IReadOnlyList<string> later = isLong || filter is not null
            ? []
            : LeftOutTests.Read(File.ReadAllText(Path.Combine(root, LongOnly))).Names;
        TestPlan all = new("", Part: 0, Parts: 1, null, null, exceptions.Names, later, filter ?? "");
        ConcurrentQueue<TestPlan> waiting = new(wine.RunsAll
            ? [
                .. Split(all with { Assembly = Interop }, InteropParts),
                .. Split(all with { Assembly = Http }, Parts),
                .. Split(all with { Assembly = Unit }, Parts),
            ]
            : [all with { Assembly = Unit, Spaces = [.. OldWine.Concat(OldNtlm).Select(SpaceOf)] }]);
        ConcurrentBag<SuiteResult> results = [];
        await Task.WhenAll(Enumerable.Range(0, Math.Min(Workers, waiting.Count)).Select(async worker =>
        {
            string prefix = Path.Combine(Folder, $"prefix{worker}");
            await using WineWorld world = await wine.OpenAsync(prefix);
            await using PeerHost peers = new(prefix);
            TestProcess process = new(world, program, exceptions, peers);
            while (waiting.TryDequeue(out TestPlan? plan))
            {
                (SuiteResult result, IReadOnlyList<TestPlan> left) = await process.RunAsync(Name, plan);
                results.Add(result);
                foreach (TestPlan more in left)
                {
                    waiting.Enqueue(more);
                }
            }
        }));
        return results.Aggregate(SuiteResult.Empty(Name), (sum, result) => sum.With(result));
    }

    private static string SpaceOf(string name) => $"{Unit}.{name}";

    private static IEnumerable<TestPlan> Split(TestPlan plan, int parts) =>
        Enumerable.Range(0, parts).Select(part => plan with { Part = part, Parts = parts });
}

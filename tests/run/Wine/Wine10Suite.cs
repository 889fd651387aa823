using System.Collections.Concurrent;
using ProtoRpc.Tool.Processes;

namespace ProtoRpc.TestRun.Wine;

/// <summary>The tests of <c>unit</c> and <c>http</c> built for Windows, run by Wine where there is no
/// Windows. They run in several processes, so that one that hangs or crashes costs the others
/// nothing.</summary>
internal sealed class Wine10Suite(string root, TimeSpan limit) : ITestSuite
{
    private const string Project = "tests/wine/WineTests.csproj";
    private const string Unit = "ProtoRpc.Tests";
    private const string Http = "ProtoRpc.Http.Tests";

    // One prefix each, and a processor.
    private const int Workers = 2;

    // Few enough that the start of a program does not count, many enough that the last ones end together.
    private const int Parts = 8;

    private static readonly TimeSpan BuildLimit = TimeSpan.FromMinutes(5);

    public string Name => "wine";

    // Only where somebody has made the root: the tests take some minutes.
    public bool Exists => !OperatingSystem.IsWindows() && File.Exists(Path.Combine(root, Project))
        && !string.IsNullOrEmpty(Environment.GetEnvironmentVariable(WineInstallation.Variable));

    // Below the repository, where the tests find its files.
    private string Folder => Path.Combine(root, "artifacts", "wine");

    public async Task<SuiteResult> RunAsync(string? filter)
    {
        (WineInstallation? wine, string whyNot) = await WineInstallation.FindAsync(root);
        if (wine is not { RunsAll: true })
        {
            return SuiteResult.Skipped(
                Name, filter is null ? 1 : 0,
                wine is null ? whyNot
                    : $"{wine.Version} cannot run the tests; they need Wine {WineInstallation.Needed} "
                        + "or newer");
        }

        string program = Path.Combine(Folder, "program");
        ChildProcess.Result publish = await ChildProcess.RunAsync(
            "dotnet",
            [
                "publish", Project, "-r", "win-x64", "--self-contained", "-o", program,
                "--nologo", "-v", "q",
            ],
            root,
            BuildLimit);
        if (!publish.Succeeded)
        {
            return SuiteResult.Empty(Name).WithFailure("wine: the build", publish.Text);
        }

        SuiteResult result = await RunAsync(wine, program, filter);
        return result.Counts.Total == 0 && filter is null
            ? result.WithFailure("wine: the whole run", "not one test ran")
            : result;
    }

    private async Task<SuiteResult> RunAsync(WineInstallation wine, string program, string? filter)
    {
        WineExceptions exceptions = WineExceptions.Read(
            File.ReadAllText(Path.Combine(root, "tests", "wine", "not-under-wine.txt")));
        ConcurrentQueue<WineBatch> waiting = new(
            [.. Split(Http, filter, exceptions), .. Split(Unit, filter, exceptions)]);
        using CancellationTokenSource end = new(limit);
        ConcurrentBag<SuiteResult> results = [];
        await Task.WhenAll(Enumerable.Range(0, Workers).Select(async worker =>
        {
            await using WineWorld world = await wine.OpenAsync(Path.Combine(Folder, $"prefix{worker}"));
            WineProcess process = new(world, program, exceptions, end.Token);
            while (waiting.TryDequeue(out WineBatch? batch))
            {
                (SuiteResult result, WineBatch? rest) = await process.RunAsync(Name, batch);
                results.Add(result);
                if (rest is not null)
                {
                    waiting.Enqueue(rest);
                }
            }
        }));
        return results.Aggregate(SuiteResult.Empty(Name), (sum, result) => sum.With(result));
    }

    // The same entry belongs to one batch only, so that its tests are counted once.
    private static IEnumerable<WineBatch> Split(string assembly, string? filter, WineExceptions exceptions) =>
        Enumerable.Range(0, Parts).Select(part => new WineBatch(
            assembly, part, Parts, null, null, exceptions.Names, filter ?? ""));
}

using System.Text.RegularExpressions;
using ProtoRpc.Tool.Processes;

namespace ProtoRpc.TestRun;

/// <summary>A program with a server and clients, published trimmed and as native code. Trimming that warns
/// of one of the libraries fails the build.</summary>
internal sealed partial class TrimmedSuite(string root) : ITestSuite
{
    private const string Project = "tests/trimmed/TrimmedProgram.csproj";

    // Without a network, restoring retries for minutes.
    private static readonly TimeSpan RestoreLimit = TimeSpan.FromMinutes(3);

    // The linker and the NativeAOT compiler print nothing before their end, so only a hang takes this long.
    private static readonly TimeSpan Limit = TimeSpan.FromMinutes(20);

    public string Name => "trimmed";

    public string Needs => "clang or gcc for native code";

    public bool Exists => File.Exists(Path.Combine(root, Project));

    public async Task<SuiteResult> RunAsync(string? filter)
    {
        SuiteResult trimmed = await RunAsync("Trimmed", filter);
        SuiteResult native = await RunAsync("Native", filter);
        return new SuiteResult(
            Name, trimmed.Counts + native.Counts, [.. trimmed.Failures, .. native.Failures],
            [.. trimmed.Skips, .. native.Skips]);
    }

    /// <summary>Why a program cannot be built here; null for any other failure of the build.</summary>
    /// <param name="lines">The output of restore and build.</param>
    internal static string? MissingTool(IEnumerable<string> lines) => lines
        .Select(line => Missing().Match(line))
        .FirstOrDefault(match => match.Success)?.Value;

    private async Task<SuiteResult> RunAsync(string how, string? filter)
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-tests-");
        string named = $"{Name}: {how}";
        try
        {
            ChildProcess.Result restore = await ChildProcess.RunAsync(
                "dotnet", ["restore", Project, $"-p:TrimmedHow={how}", "-v", "q"], root, RestoreLimit);
            if (!restore.Succeeded)
            {
                string? missing = restore.TimedOut
                    ? $"restoring did not end in {RestoreLimit.TotalSeconds} seconds"
                    : MissingTool(restore.Lines);
                return missing is null
                    ? SuiteResult.Empty(named).WithFailure($"{named}, restore", restore.Text)
                    : Skipped(how, filter, missing);
            }

            ChildProcess.Result publish = await ChildProcess.RunAsync(
                "dotnet",
                [
                    "publish", Project, "-c", "Debug", $"-p:TrimmedHow={how}", "--no-restore",
                    "-o", folder.FullName, "--nologo", "-v", "q",
                ],
                root,
                Limit);
            if (!publish.Succeeded)
            {
                return MissingTool(publish.Lines) is { } tool
                    ? Skipped(how, filter, tool)
                    : SuiteResult.Empty(named).WithFailure($"{named}, build", publish.Text);
            }

            string report = Path.Combine(folder.FullName, "report.json");
            ChildProcess.Result run = await ChildProcess.RunAsync(
                Path.Combine(folder.FullName, OperatingSystem.IsWindows()
                    ? "TrimmedProgram.exe"
                    : "TrimmedProgram"),
                [report, filter ?? ""],
                folder.FullName,
                Limit);
            return Judge(named, run, report, filter);
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    private static SuiteResult Judge(string named, ChildProcess.Result run, string report, string? filter)
    {
        if (!run.Succeeded || !File.Exists(report))
        {
            string end = run.TimedOut ? "did not end" : $"ended with {run.ExitCode}";
            return SuiteResult.Empty(named).WithFailure($"{named}, run", $"{end}\n{run.Text}");
        }

        try
        {
            SuiteResult result = JsonReport.Read(named, File.ReadAllText(report));
            return result.Counts.Total == 0 && filter is null
                ? result.WithFailure($"{named}, run", $"not one test ran\n{run.Text}")
                : result with
                {
                    Failures =
                        [.. result.Failures.Select(test => test with { Name = $"{named}: {test.Name}" })],
                };
        }
        catch (FormatException e)
        {
            return SuiteResult.Empty(named).WithFailure($"{named}, run", $"{e.Message}\n{run.Text}");
        }
    }

    private SuiteResult Skipped(string how, string? filter, string reason) =>
        SuiteResult.Skipped($"{Name}: {how}", filter is null ? 1 : 0, reason);

    // NuGet: package missing, version missing, no connection. SDK: no linker for native code.
    [GeneratedRegex(@"\b(NU1101|NU1102|NU1103|NU1301): [^\[]*|Platform linker \(.*?\) not found")]
    private static partial Regex Missing();
}

using System.Text.RegularExpressions;
using ProtoRpc.Tool.Processes;

namespace ProtoRpc.TestRun;

/// <summary>The module's Pester tests, in a fresh shell;
/// skipped, with their number, where there is none.</summary>
internal sealed partial class PesterSuite(string root, TimeSpan limit) : ITestSuite
{
    private const int NoPester = 3;

    private string Folder => Path.Combine(root, "tests", "pester");

    private string[] Files => Directory.Exists(Folder) ? Directory.GetFiles(Folder, "*.Tests.ps1") : [];

    public string Name => "pester";

    public bool Exists => Files.Length > 0;

    public async Task<SuiteResult> RunAsync(string? filter)
    {
        (PowerShellHost? shell, string whyNot) = await PowerShellHost.FindAsync(root);
        if (shell is null)
        {
            return Skip(filter, $"{whyNot}; install PowerShell 7.6 or newer");
        }

        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-tests-");
        try
        {
            string report = Path.Combine(folder.FullName, "pester.json");
            string script = Path.Combine(AppContext.BaseDirectory, "pester.ps1");
            string[] filters = filter is null ? [] : ["-Filter", filter];
            ChildProcess.Result run = await shell.RunAsync(
                ["-File", script, "-Path", Folder, "-Report", report, .. filters], root, limit);
            return Judge(run, report, filter);
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    /// <summary>How many tests a file has, read from its text: at least one.</summary>
    internal static int CountTests(string script) => Math.Max(1, TestHead().Count(script));

    private SuiteResult Judge(ChildProcess.Result run, string report, string? filter)
    {
        string tail = string.Join('\n', run.Lines.TakeLast(30));
        if (run.ExitCode == NoPester)
        {
            return Skip(filter, $"there is no Pester 5 ({tail})");
        }

        SuiteResult failed = SuiteResult.Empty(Name);
        if (run.TimedOut)
        {
            return failed.WithFailure(
                "pester: the whole run", $"did not end in {limit.TotalMinutes} minutes\n{tail}");
        }

        if (!run.Succeeded || !File.Exists(report))
        {
            return failed.WithFailure("pester: the whole run", $"pwsh ended with {run.ExitCode}\n{tail}");
        }

        try
        {
            SuiteResult result = JsonReport.Read(Name, File.ReadAllText(report));
            return result.Counts.Total == 0 && filter is null
                ? result.WithFailure("pester: the whole run", $"not one test ran\n{tail}")
                : result;
        }
        catch (FormatException e)
        {
            return failed.WithFailure("pester: the whole run", $"{e.Message}\n{tail}");
        }
    }

    // With a filter, the tests that would have run are unknown, so none is counted.
    private SuiteResult Skip(string? filter, string reason)
    {
        int count = filter is null ? Files.Sum(file => CountTests(File.ReadAllText(file))) : 0;
        return SuiteResult.Skipped(Name, count, reason);
    }

    [GeneratedRegex(@"^\s*It\s+['""]", RegexOptions.Multiline)]
    private static partial Regex TestHead();
}

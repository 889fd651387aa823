using ProtoRpc.Tool.Processes;

namespace ProtoRpc.TestRun;

/// <summary>A program of the tests that runs for a given time, and writes each thing that it checked as a
/// test into a report.</summary>
/// <param name="name">The name of the suite.</param>
/// <param name="root">The repository.</param>
/// <param name="project">The program.</param>
/// <param name="arguments">What it is started with, beside the report.</param>
/// <param name="limit">When to end it.</param>
/// <param name="hint">What the program leaves if it dies, or null for nothing.</param>
internal sealed class ProgramSuite(
    string name, string root, string project, IReadOnlyList<string> arguments, TimeSpan limit,
    string? hint = null) : ITestSuite
{
    public string Name => name;

    public bool Exists => File.Exists(Path.Combine(root, project));

    public async Task<SuiteResult> RunAsync(string? filter)
    {
        // What the program checks is no test that a filter can find.
        if (filter is not null)
        {
            return SuiteResult.Empty(Name);
        }

        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-tests-");
        try
        {
            string report = Path.Combine(folder.FullName, "report.json");
            ChildProcess.Result run = await ChildProcess.RunAsync(
                "dotnet",
                ["run", "-c", "Release", "--project", project, "--", .. arguments, "--report", report],
                root,
                limit);
            return Judge(run, report);
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    private SuiteResult Judge(ChildProcess.Result run, string report)
    {
        string tail = string.Join('\n', run.Lines.TakeLast(40));
        if (run.TimedOut || !File.Exists(report))
        {
            string end = run.TimedOut
                ? $"did not end in {limit.TotalMinutes} minutes"
                : $"ended with {run.ExitCode}{(hint is null ? "" : $"; {hint}")}";
            return SuiteResult.Empty(Name).WithFailure($"{Name}: the whole run", $"{end}\n{tail}");
        }

        try
        {
            SuiteResult result = JsonReport.Read(Name, File.ReadAllText(report));
            return result.Counts.Total == 0
                ? result.WithFailure($"{Name}: the whole run", $"nothing was checked\n{tail}")
                : result;
        }
        catch (FormatException e)
        {
            return SuiteResult.Empty(Name).WithFailure($"{Name}: the whole run", $"{e.Message}\n{tail}");
        }
    }
}

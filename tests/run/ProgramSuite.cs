using ProtoRpc.Tool.Processes;

namespace ProtoRpc.TestRun;

/// <summary>A program of the tests that runs for a given time, and writes each thing that it checked as a
/// test into a report.</summary>
/// <param name="name">The name of the suite.</param>
/// <param name="root">The repository.</param>
/// <param name="project">The program.</param>
/// <param name="arguments">The arguments of the program, without the path of the report.</param>
/// <param name="hint">A text for the user about the files that the program leaves if it ends early; null for
/// none.</param>
internal sealed class ProgramSuite(
    string name, string root, string project, IReadOnlyList<string> arguments, string? hint = null)
    : ITestSuite
{
    // The programs print a line a minute.
    private static readonly TimeSpan Silence = TimeSpan.FromMinutes(3);

    public string Name => name;

    public string Needs { get; init; } = "";

    public bool StartsPowerShell { get; init; }

    public bool Exists => File.Exists(Path.Combine(root, project));

    public async Task<SuiteResult> RunAsync(string? filter)
    {
        // The checks of the program are not tests that a filter can select.
        if (filter is not null)
        {
            return SuiteResult.Empty(Name);
        }

        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-tests-");
        try
        {
            string report = Path.Combine(folder.FullName, "report.json");
            if (await SolutionBuild.RunAsync(root, project, "-c", "Release") is { } errors)
            {
                return SuiteResult.Empty(Name).WithFailure($"{Name}: the build", errors);
            }

            ChildProcess.Result run = await ChildProcess.RunUntilSilentAsync(
                "dotnet",
                [
                    "run", "-c", "Release", "--no-build", "--project", project, "--", .. arguments,
                    "--report", report,
                ],
                root, Silence);
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
                ? $"printed nothing for {Silence.TotalMinutes} minutes"
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

using ProtoRpc.Tool.Processes;

namespace ProtoRpc.TestRun;

/// <summary>The xunit tests of one project, already built.</summary>
/// <param name="name">The name of the suite.</param>
/// <param name="root">The repository.</param>
/// <param name="project">The project, or the assembly that it built.</param>
/// <param name="limit">When to end the tests.</param>
/// <param name="always">Part of the names of all tests that belong to the suite, or null for all.</param>
internal sealed class XunitSuite(
    string name, string root, string project, TimeSpan limit, string? always = null) : ITestSuite
{
    public string Name => name;

    public string Needs { get; init; } = "";

    public bool StartsPowerShell { get; init; }

    public IReadOnlyList<string> Projects => project.EndsWith("proj", StringComparison.Ordinal) ? [project] : [];

    public bool Exists => File.Exists(Path.Combine(root, project));

    public async Task<SuiteResult> RunAsync(string? filter)
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-tests-");
        try
        {
            string report = Path.Combine(folder.FullName, $"{name}.trx");
            List<string> arguments =
            [
                "test", Path.Combine(root, project),
                .. project.EndsWith(".dll", StringComparison.Ordinal)
                    ? Array.Empty<string>()
                    : ["--no-build", "--nologo"],
                "--logger", $"trx;LogFileName={name}.trx", "--logger", "console;verbosity=quiet",
                "--results-directory", folder.FullName,
                // A hang names the test that hung, instead of running into the limit of the whole suite.
                "--blame-hang-timeout", "2m", "--blame-hang-dump-type", "none",
            ];
            string[] parts = [.. new[] { always, filter }.OfType<string>()];
            if (parts.Length > 0)
            {
                arguments.AddRange(
                    ["--filter", string.Join('&', parts.Select(part => $"FullyQualifiedName~{part}"))]);
            }

            ChildProcess.Result run = await ChildProcess.RunAsync("dotnet", arguments, root, limit);
            return Judge(run, report, filter);
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    private SuiteResult Judge(ChildProcess.Result run, string report, string? filter)
    {
        string tail = string.Join('\n', run.Lines.TakeLast(30));
        SuiteResult result;
        try
        {
            result = File.Exists(report)
                ? TrxReport.Read(name, File.ReadAllText(report))
                : SuiteResult.Empty(name);
        }
        catch (FormatException e)
        {
            return SuiteResult.Empty(name).WithFailure($"{name}: the whole run", $"{e.Message}\n{tail}");
        }

        if (run.TimedOut)
        {
            return result.WithFailure(
                $"{name}: the whole run", $"did not end in {limit.TotalMinutes} minutes\n{tail}");
        }

        // With a filter, a suite may have nothing to run; dotnet test then succeeds without a report.
        return !run.Succeeded && result.Counts.Failed == 0
            ? result.WithFailure($"{name}: the whole run", $"dotnet test ended with {run.ExitCode}\n{tail}")
            : result.Counts.Total == 0 && filter is null
                ? result.WithFailure($"{name}: the whole run", $"not one test ran\n{tail}")
                : result;
    }
}

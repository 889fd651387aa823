using ProtoRpc.Tool.Processes;

namespace ProtoRpc.TestRun;

/// <summary>The fuzz targets, which share two minutes; each is a test.</summary>
internal sealed class FuzzSuite(string root, TimeSpan limit) : ITestSuite
{
    private const string Project = "tests/fuzz/ProtoRpc.Fuzz.csproj";

    // Beside half a minute for the growing inputs.
    private const string Seconds = "90";

    public string Name => "fuzz";

    public bool Exists => File.Exists(Path.Combine(root, Project));

    public async Task<SuiteResult> RunAsync(string? filter)
    {
        // A target is no test that a filter can find.
        if (filter is not null)
        {
            return SuiteResult.Empty(Name);
        }

        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-tests-");
        try
        {
            string report = Path.Combine(folder.FullName, "fuzz.json");
            ChildProcess.Result run = await ChildProcess.RunAsync(
                "dotnet",
                ["run", "-c", "Release", "--project", Project, "--", "--seconds", Seconds, "--report",
                    report],
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
                : $"ended with {run.ExitCode}; the input that ran is in artifacts/fuzz/*.running";
            return SuiteResult.Empty(Name).WithFailure("fuzz: the whole run", $"{end}\n{tail}");
        }

        try
        {
            SuiteResult result = JsonReport.Read(Name, File.ReadAllText(report));
            return result.Counts.Total == 0
                ? result.WithFailure("fuzz: the whole run", $"no target ran\n{tail}")
                : result;
        }
        catch (FormatException e)
        {
            return SuiteResult.Empty(Name).WithFailure("fuzz: the whole run", $"{e.Message}\n{tail}");
        }
    }
}

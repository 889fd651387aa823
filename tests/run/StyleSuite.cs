using ProtoRpc.Tool.Processes;

namespace ProtoRpc.TestRun;

/// <summary>How the C# files look: whitespace, the order of usings, the length of lines and files.</summary>
/// <remarks>The style rules of .editorconfig are errors of the build, and are not checked again.</remarks>
/// <param name="root">The repository.</param>
/// <param name="only">The files to look at, for a quick answer without the order of usings; null for
/// all.</param>
internal sealed class StyleSuite(string root, IReadOnlyList<string>? only = null) : ITestSuite
{
    private const string Solution = "ProtoRpc.slnx";

    // dotnet format loads all projects and prints nothing before its end, so only a hang takes this long.
    private static readonly TimeSpan Limit = TimeSpan.FromMinutes(20);

    // dotnet format always checks the order of usings. With only one rule it needs a third of the time, and
    // the build has checked all rules.
    private static readonly string[] UsingsAlone = ["--diagnostics", "IDE0040"];

    public string Name => "style";

    public bool Exists => true;

    public async Task<SuiteResult> RunAsync(string? filter)
    {
        SuiteResult[] results = await Task.WhenAll(
            only is null ? FormatSolutionAsync(filter) : FormatFilesAsync(only),
            Task.FromResult(Measure("line length", LineLength.Check, filter)),
            Task.FromResult(Measure("file length", FileLength.Check, filter)));
        return new SuiteResult(
            Name, results.Select(result => result.Counts).Aggregate((sum, counts) => sum + counts),
            [.. results.SelectMany(result => result.Failures)], []);
    }

    /// <summary>The findings of a run of dotnet format.</summary>
    /// <param name="root">The folder that the names of files begin at.</param>
    /// <param name="lines">The output of the build: <c>FILE(LINE,COLUMN): error ID: TEXT
    /// [PROJECT]</c>.</param>
    internal static IEnumerable<TestCase> Findings(string root, IEnumerable<string> lines)
    {
        foreach (string line in lines.Distinct())
        {
            int place = line.IndexOf("): error ", StringComparison.Ordinal);
            if (place >= 0)
            {
                int project = line.LastIndexOf(" [", StringComparison.Ordinal);
                string text = line[(place + "): error ".Length)..(project > place ? project : line.Length)];
                string file = Path.GetRelativePath(root, line[..(place + 1)]).Replace('\\', '/');
                yield return new TestCase(file, text);
            }
        }
    }

    private async Task<SuiteResult> FormatSolutionAsync(string? filter)
    {
        if (!IsWanted("dotnet format", filter))
        {
            return SuiteResult.Empty(Name);
        }

        // Both commands load all projects, which must be restored.
        ChildProcess.Result restore = await ChildProcess.RunAsync(
            "dotnet", ["restore", Solution, "-v", "q"], root, Limit);
        if (!restore.Succeeded)
        {
            return SuiteResult.Empty(Name).WithFailure("dotnet restore", restore.Text);
        }

        SuiteResult[] results = await Task.WhenAll(
            FormatAsync("whitespace", [Solution, "--no-restore"]),
            FormatAsync("style", [Solution, "--no-restore", .. UsingsAlone]));
        return results[0].With(results[1]);
    }

    private async Task<SuiteResult> FormatFilesAsync(IReadOnlyList<string> files)
    {
        string[] sources =
        [
            .. files.Where(file =>
                file.EndsWith(".cs", StringComparison.Ordinal) && File.Exists(Path.Combine(root, file))),
        ];
        return sources.Length == 0
            ? SuiteResult.Empty(Name)
            : await FormatAsync("whitespace", ["--folder", ".", "--include", .. sources]);
    }

    private async Task<SuiteResult> FormatAsync(string kind, string[] options)
    {
        string name = $"dotnet format {kind}";
        ChildProcess.Result run = await ChildProcess.RunAsync(
            "dotnet", ["format", kind, .. options, "--verify-no-changes"], root, Limit);
        if (run.Succeeded)
        {
            return Passed();
        }

        TestCase[] findings = [.. Findings(root, run.Lines)];
        string end = run.TimedOut
            ? $"did not end in {Limit.TotalMinutes} minutes"
            : $"ended with {run.ExitCode}";
        return findings.Length == 0
            ? SuiteResult.Empty(Name).WithFailure(name, $"{end}\n{run.Text}")
            : Failed(findings.Select(found => found with
            {
                Message = $"{found.Message} Run 'dotnet format {kind} ProtoRpc.slnx' to repair the file.",
            }));
    }

    private SuiteResult Measure(string name, Func<string, IEnumerable<TestCase>> check, string? filter)
    {
        if (!IsWanted(name, filter))
        {
            return SuiteResult.Empty(Name);
        }

        TestCase[] tooLong = [.. check(root)];
        return tooLong.Length == 0 ? Passed() : Failed(tooLong);
    }

    private static bool IsWanted(string name, string? filter) =>
        filter is null || $"style: {name}".Contains(filter, StringComparison.OrdinalIgnoreCase);

    private SuiteResult Passed() => SuiteResult.Empty(Name) with { Counts = new TestCounts(1, 0, 0) };

    private SuiteResult Failed(IEnumerable<TestCase> cases) =>
        cases.Aggregate(SuiteResult.Empty(Name), (sum, one) => sum.WithFailure(one.Name, one.Message));
}

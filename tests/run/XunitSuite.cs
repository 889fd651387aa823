namespace ProtoRpc.TestRun;

/// <summary>The xunit tests of one project, already built.</summary>
/// <param name="name">The name of the suite.</param>
/// <param name="root">The repository.</param>
/// <param name="project">The project, or the assembly that it built.</param>
/// <param name="always">Part of the names of all classes that belong to the suite, or null for all.</param>
internal sealed class XunitSuite(string name, string root, string project, string? always = null) : ITestSuite
{
    public string Name => name;

    public string Needs { get; init; } = "";

    public bool StartsPowerShell { get; init; }

    public IReadOnlyList<string> Projects =>
        project.EndsWith("proj", StringComparison.Ordinal) ? [project] : [];

    public bool Exists => File.Exists(Path.Combine(root, project));

    private string Assembly => project.EndsWith(".dll", StringComparison.Ordinal)
        ? project
        : Path.Combine(
            root, "artifacts", "bin", Path.GetFileNameWithoutExtension(project), "debug",
            $"{Path.GetFileNameWithoutExtension(project)}.dll");

    public async Task<SuiteResult> RunAsync(string? filter)
    {
        // Runs the program and not 'dotnet test', which only reports completed tests.
        List<string> arguments = ["exec", Assembly, "-automated", "async"];
        if (always is not null)
        {
            arguments.AddRange(["-class", $"*{always}*"]);
        }

        if (filter is not null)
        {
            arguments.AddRange(["-method", $"*{filter}*"]);
        }

        SuiteResult result = await new XunitProgram(name, XunitProgram.Silence)
            .RunAsync("dotnet", arguments, Path.GetDirectoryName(Assembly)!);
        return result.Counts.Total == 0 && filter is null
            ? result.WithFailure($"{name}: the whole run", "not one test ran")
            : result;
    }
}

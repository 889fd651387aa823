using System.Text.Json;
using ProtoRpc.Tool.Processes;

namespace ProtoRpc.TestRun;

/// <summary>Builds projects once, before the suites that need them.</summary>
internal static class SolutionBuild
{
    // The build prints a line for each project, so only a hanging build is silent for so long.
    private static readonly TimeSpan Silence = TimeSpan.FromMinutes(10);

    /// <summary>Builds a project or a solution.</summary>
    /// <returns>The errors, or null.</returns>
    public static async Task<string?> RunAsync(string root, string project, params string[] options)
    {
        ChildProcess.Result build = await ChildProcess.RunUntilSilentAsync(
            "dotnet", ["build", project, .. options, "--nologo", "-v", "m", "-clp:NoSummary"], root, Silence);
        return build.Succeeded ? null
            : build.TimedOut ? $"The build printed nothing for {Silence.TotalMinutes} minutes.\n{build.Text}"
            : ErrorsOf(build.Lines);
    }

    /// <summary>Builds several projects of the solution at the same time, and no others.</summary>
    /// <returns>The errors, or null.</returns>
    public static async Task<string?> RunAsync(string root, IReadOnlyList<string> projects)
    {
        if (projects.Count == 0)
        {
            return null;
        }

        string folder = Path.Combine(root, "artifacts");
        Directory.CreateDirectory(folder);
        string filter = Path.Combine(folder, "test-run.slnf");
        await File.WriteAllTextAsync(
            filter, JsonSerializer.Serialize(new { solution = new { path = "../ProtoRpc.slnx", projects } }));
        return await RunAsync(root, filter);
    }

    // Lines about projects that were built are omitted.
    private static string ErrorsOf(IReadOnlyList<string> lines)
    {
        string[] errors =
            [.. lines.Where(line => line.Contains("error", StringComparison.OrdinalIgnoreCase)).Distinct()];
        return string.Join('\n', errors.Length > 0 ? errors : lines);
    }
}

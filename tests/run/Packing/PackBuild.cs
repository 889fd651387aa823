using ProtoRpc.Tool.Processes;

namespace ProtoRpc.TestRun.Packing;

/// <summary>Builds for packages: always from an empty folder of its own, so that the packages contain no
/// files of an earlier build.</summary>
/// <param name="root">The repository.</param>
/// <param name="time">The time of the files in packages.</param>
internal sealed class PackBuild(string root, DateTimeOffset time)
{
    /// <summary>The name of the manual page.</summary>
    public const string Manual = "protorpc.1";

    private static readonly TimeSpan Limit = TimeSpan.FromMinutes(10);

    private readonly string _folder = Path.Combine(root, "artifacts", "pack");

    /// <summary>The folder of all that is built.</summary>
    public string Folder => _folder;

    /// <summary>The folder of the built module.</summary>
    public string ModuleBinaries => Path.Combine(_folder, "module");

    /// <summary>The folder of a built project.</summary>
    public string FolderOf(string project) => Path.Combine(_folder, "bin", project, "release");

    /// <summary>The file of a built project.</summary>
    public string FileOf(string project, string extension) =>
        Path.Combine(FolderOf(project), project + extension);

    /// <summary>The list of packages that a project was restored with.</summary>
    public string AssetsOf(string project) => Path.Combine(_folder, "obj", project, "project.assets.json");

    /// <summary>Deletes earlier builds.</summary>
    public void Clean()
    {
        if (Directory.Exists(_folder))
        {
            Directory.Delete(_folder, recursive: true);
        }
    }

    /// <summary>Lets the built tool make its manual page, and writes the page to a file.</summary>
    /// <returns>The file.</returns>
    /// <exception cref="PackFailure">The tool made none.</exception>
    public async Task<string> WriteManualAsync(string tool)
    {
        ChildProcess.Result run = await ChildProcess.RunAsync(
            "dotnet", ["exec", FileOf(tool, ".dll"), "man"], root, Limit);
        if (!run.Succeeded || !run.Text.StartsWith(".TH ", StringComparison.Ordinal))
        {
            throw new PackFailure($"The tool made no manual page.\n{run.Text}");
        }

        string file = Path.Combine(_folder, Manual);
        await File.WriteAllTextAsync(file, run.Text + "\n");
        return file;
    }

    /// <summary>Runs dotnet.</summary>
    /// <returns>The codes and texts of the errors of restoring packages; null if the build
    /// succeeded.</returns>
    /// <exception cref="PackFailure">Another step failed.</exception>
    public async Task<string?> RunAsync(string verb, string project, params string[] options)
    {
        ChildProcess.Result run = await ChildProcess.RunAsync(
            "dotnet",
            [
                verb, project, "-c", "Release", "--nologo", "-v", "q",
                "-p:ContinuousIntegrationBuild=true", $"-p:ArtifactsPath={_folder}",
                // The test command checks the style.
                "-p:RunAnalyzers=false", "-p:EnforceCodeStyleInBuild=false",
                $"-p:ModuleBin={ModuleBinaries}/", $"-p:DeterministicTimestamp={time.ToUnixTimeSeconds()}",
                .. options,
            ],
            root, Limit);
        return run.Succeeded ? null
            : TrimmedSuite.MissingTool(run.Lines) is { } missing ? missing.Trim()
            : throw new PackFailure(
                $"'dotnet {verb} {project}' "
                + (run.TimedOut
                    ? $"did not end in {Limit.TotalMinutes} minutes"
                    : $"ended with {run.ExitCode}")
                + $".\n{run.Text}");
    }
}

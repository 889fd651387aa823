namespace ProtoRpc.TestRun.Packing;

/// <summary>Makes the module alone, for the platform that this program runs on.</summary>
/// <param name="root">The repository.</param>
/// <param name="options">The output folder.</param>
/// <param name="log">Gets a line for each step.</param>
internal sealed class ModulePacker(string root, PackOptions options, TextWriter log)
{
    // The first folder of the path is the user's. Copy-Item requires that it exists.
    private const string UserModules =
        "New-Item -Force -ItemType Directory ($env:PSModulePath -split [IO.Path]::PathSeparator)[0]";

    /// <summary>Makes the folder of the module, and says how to install it.</summary>
    /// <exception cref="PackFailure">A step failed.</exception>
    public async Task RunAsync()
    {
        ModuleManifest manifest = ModuleManifest.Read(Path.Combine(root, "ProtoRpc.psd1"));
        SourceCommit commit = await SourceCommit.OfAsync(root);
        // Created before the build, to fail early if it cannot be written.
        string output = Directory.CreateDirectory(options.OutputIn(root)).FullName;
        PackBuild build = new(root, commit.Time);
        string platform = PackOptions.ThisPlatform;

        log.WriteLine($"Building the module ProtoRpc {manifest.Version} for {platform} ...");
        build.Clean();
        string? missing = await NativeBinaries.PublishAsync(build, platform, build.ModuleBinaries);
        if (missing is not null)
        {
            log.WriteLine($"SKIPPED: the module starts more slowly on {platform}: {missing}");
            PackFailure.Require(await build.RunAsync("build", NativeBinaries.Project));
        }

        string folder = ModuleFolder.Make(root, build.ModuleBinaries, output, manifest);
        log.Write(Instructions(folder));
    }

    /// <summary>The commands to run next, in PowerShell.</summary>
    /// <param name="folder">The folder of the module, which has the version as its name.</param>
    internal static string Instructions(string folder)
    {
        string module = Path.GetDirectoryName(folder)!.Replace("'", "''", StringComparison.Ordinal);
        return $"""
            The module is in {folder}

            To import it from there, run in PowerShell 7.6:
              Import-Module '{module}'

            To install it for your account:
              Copy-Item '{module}' ({UserModules}) -Recurse -Force

            """.ReplaceLineEndings();
    }
}

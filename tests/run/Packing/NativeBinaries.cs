namespace ProtoRpc.TestRun.Packing;

/// <summary>The module's assemblies for one platform, compiled ahead of time (ReadyToRun). A shell loads
/// them instead of those for all platforms, and starts without its just-in-time compiler.</summary>
internal static class NativeBinaries
{
    // The assemblies that an import, a client or a listener loads. All others are built once for all
    // platforms.
    private static readonly string[] Names =
    [
        "Google.Protobuf.dll", "ProtoRpc.AspNetCore.dll", "ProtoRpc.Loader.dll", "ProtoRpc.PowerShell.dll",
        "ProtoRpc.Shared.dll", "ProtoRpc.dll",
    ];

    /// <summary>The project of the module.</summary>
    public const string Project = "cmdlets/ProtoRpc.PowerShell";

    /// <summary>Publishes the whole module for a platform.</summary>
    /// <param name="build">The build.</param>
    /// <param name="platform">The runtime identifier.</param>
    /// <param name="folder">The folder to publish to.</param>
    /// <param name="options">Further options of the build.</param>
    /// <returns>The errors of restoring packages; null if the build succeeded.</returns>
    public static Task<string?> PublishAsync(
        PackBuild build, string platform, string folder, params string[] options) =>
        build.RunAsync(
            "publish", Project,
            [
                "-r", platform, "--no-self-contained", "-o", folder,
                "-p:PublishReadyToRun=true", "-p:DebugType=none", .. options,
            ]);

    /// <summary>Adds the assemblies for a platform to a built module, in a folder of their own.</summary>
    /// <param name="build">The build.</param>
    /// <param name="platform">The runtime identifier.</param>
    /// <returns>The errors of restoring packages; null if the build succeeded.</returns>
    public static async Task<string?> AddAsync(PackBuild build, string platform)
    {
        DirectoryInfo published = Directory.CreateTempSubdirectory("protorpc-native-");
        try
        {
            string? missing = await PublishAsync(
                build, platform, published.FullName,
                // Separate from the build for all platforms, whose lists of packages are read later.
                $"-p:ArtifactsPath={Path.Combine(build.Folder, "native")}");
            if (missing is null)
            {
                string folder = Path.Combine(build.ModuleBinaries, platform);
                Directory.CreateDirectory(folder);
                foreach (string name in Names)
                {
                    File.Copy(Path.Combine(published.FullName, name), Path.Combine(folder, name));
                }
            }

            return missing;
        }
        finally
        {
            published.Delete(recursive: true);
        }
    }
}

namespace ProtoRpc.TestRun.Packing;

/// <summary>The module's assemblies for one platform, compiled ahead of time (ReadyToRun). A shell loads
/// them instead of those for all platforms, and starts without its just-in-time compiler.</summary>
internal static class NativeBinaries
{
    // What is loaded by an import, by clients and by listeners. The rest is for all platforms.
    private static readonly string[] Names =
    [
        "Google.Protobuf.dll", "ProtoRpc.Hosting.dll", "ProtoRpc.Loader.dll", "ProtoRpc.PowerShell.dll",
        "ProtoRpc.Shared.dll", "ProtoRpc.dll",
    ];

    /// <summary>Adds the assemblies for a platform to a built module, in a folder of their own.</summary>
    /// <param name="build">The build.</param>
    /// <param name="platform">The runtime identifier.</param>
    /// <returns>What cannot be restored here; null if all went well.</returns>
    public static async Task<string?> AddAsync(PackBuild build, string platform)
    {
        DirectoryInfo published = Directory.CreateTempSubdirectory("protorpc-native-");
        try
        {
            string? missing = await build.RunAsync(
                "publish", "cmdlets/ProtoRpc.PowerShell", "-r", platform, "--no-self-contained",
                "-o", published.FullName, "-p:PublishReadyToRun=true", "-p:DebugType=none",
                // Apart from the build for all platforms, whose lists of packages the later steps read.
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

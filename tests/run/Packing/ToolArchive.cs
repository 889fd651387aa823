namespace ProtoRpc.TestRun.Packing;

/// <summary>The tool for one platform as an archive that needs no .NET: the program, its manual page, and the
/// protoc of the platform.</summary>
internal sealed class ToolArchive(
    string root, PackBuild build, string version, string manual, DateTimeOffset time)
{
    private const string Program = "protorpc";

    private static readonly string[] Texts = ["LICENSE", "THIRD-PARTY-NOTICES.txt"];

    /// <summary>Makes the archive of a platform.</summary>
    /// <param name="folder">The folder to write it to.</param>
    /// <param name="platform">The runtime identifier.</param>
    /// <param name="packages">The packages that the tool has.</param>
    /// <returns>The archive, or what cannot be restored here.</returns>
    public async Task<(PackedArtifact? Made, string? Missing)> MakeAsync(
        string folder, string platform, IReadOnlyList<ShippedPackage> packages)
    {
        DirectoryInfo published = Directory.CreateTempSubdirectory("protorpc-pack-");
        try
        {
            // ReadyToRun, because trimming removes the runtime's compiled code: a command then starts with a
            // quarter of the processor time, but the archive has twice the size.
            string? missing = await build.RunAsync(
                "publish", "lib/ProtoRpc.Tool", "-r", platform, "--self-contained", "-o", published.FullName,
                "-p:PublishSingleFile=true", "-p:PublishTrimmed=true", "-p:PublishReadyToRun=true",
                "-p:DebugType=none");
            if (missing is not null)
            {
                return (null, missing);
            }

            ShippedPackage[] runtimes =
                [.. ShippedPackages.Read(build.AssetsOf("ProtoRpc.Tool")).Where(used => used.IsRuntime)];
            string name = $"{Program}-{version}-{platform}";
            PackedEntry[] entries =
            [
                .. PackedEntry.Under(published.FullName)
                    .Where(entry => IsOf(platform, entry.Name))
                    .Select(entry => Renamed(entry, name)),
                .. Texts.Select(text => new PackedEntry(
                    $"{name}/{text}", File.ReadAllBytes(Path.Combine(root, text)))),
                new PackedEntry(
                    $"{name}/README.md",
                    File.ReadAllBytes(Path.Combine(root, "lib", "ProtoRpc.Tool", "README.md"))),
                new PackedEntry($"{name}/{PackBuild.Manual}", File.ReadAllBytes(manual)),
                .. runtimes.SelectMany(LicensesOf)
                    .Select(entry => entry with { Name = $"{name}/licenses/{entry.Name}" }),
            ];
            bool isWindows = platform.StartsWith("win-", StringComparison.Ordinal);
            string file = Path.Combine(folder, name + (isWindows ? ".zip" : ".tar.gz"));
            if (isWindows)
            {
                PackedArchive.WriteZip(file, entries, time);
            }
            else
            {
                PackedArchive.WriteTarGz(file, entries, time);
            }

            return (new PackedArtifact(file, [.. packages, .. runtimes], HasThem: true), null);
        }
        finally
        {
            published.Delete(recursive: true);
        }
    }

    // The program contains the runtime, so its licenses are added.
    private static IEnumerable<PackedEntry> LicensesOf(ShippedPackage runtime) =>
        (runtime.Folder is { } folder ? Directory.EnumerateFiles(folder) : [])
            .Select(file => (File: file, Name: Path.GetFileName(file)))
            .Where(found => found.Name.StartsWith("LICENSE", StringComparison.OrdinalIgnoreCase)
                || found.Name.StartsWith("THIRD-PARTY", StringComparison.OrdinalIgnoreCase))
            .Select(found => new PackedEntry(
                $"{runtime.Name}/{found.Name}", File.ReadAllBytes(found.File)));

    // Omits the protoc of other platforms; 'osx' is for both processors.
    private static bool IsOf(string platform, string name)
    {
        string[] parts = name.Split('/');
        return parts is not ["protoc", not "include", _]
            || parts[1] == platform
            || (parts[1] == "osx" && platform.StartsWith("osx-", StringComparison.Ordinal));
    }

    private static PackedEntry Renamed(PackedEntry entry, string folder)
    {
        bool isTool = entry.Name is "ProtoRpc.Tool" or "ProtoRpc.Tool.exe";
        string name = isTool ? entry.Name.Replace("ProtoRpc.Tool", Program) : entry.Name;
        bool isProtoc = Path.GetFileNameWithoutExtension(name) == "protoc";
        return entry with { Name = $"{folder}/{name}", IsProgram = isTool || isProtoc };
    }
}

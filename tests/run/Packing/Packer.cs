namespace ProtoRpc.TestRun.Packing;

/// <summary>Makes the module, the packages and the archives of a repository.</summary>
/// <param name="root">The repository.</param>
/// <param name="options">The packages and archives to make.</param>
/// <param name="log">Gets a line for each step.</param>
internal sealed class Packer(string root, PackOptions options, TextWriter log)
{
    private const string Tool = "ProtoRpc.Tool";

    // Neither the tool nor the module uses this library.
    private const string Stubs = "ProtoRpc.Grpc";

    private static readonly string[] Libraries =
        ["ProtoRpc.Shared", "ProtoRpc", "ProtoRpc.AspNetCore", Stubs];

    // This project is not a library: it only contains files.
    private const string Compiler = "ProtoRpc.Compiler";

    private readonly string _output = options.OutputIn(root);
    private readonly List<PackedArtifact> _made = [];

    /// <summary>Makes all that the options ask for.</summary>
    /// <exception cref="PackFailure">A step failed.</exception>
    public async Task RunAsync()
    {
        ModuleManifest manifest = ModuleManifest.Read(Path.Combine(root, "ProtoRpc.psd1"));
        SourceCommit commit = await SourceCommit.OfAsync(root);
        commit.Check(manifest, options.Tag);
        PackBuild build = new(root, commit.Time);
        string packages = Fresh("packages");
        string gallery = Fresh("gallery");

        log.WriteLine($"Building ProtoRpc {manifest.Version} ...");
        build.Clean();
        PackFailure.Require(await build.RunAsync("build", $"lib/{Tool}"));
        PackFailure.Require(await build.RunAsync("build", $"lib/{Stubs}"));
        PackFailure.Require(await build.RunAsync("build", NativeBinaries.Project));
        foreach (string library in Libraries)
        {
            PublicDocumentation.Keep(build.FileOf(library, ".xml"), build.FileOf(library, ".dll"));
        }

        foreach (string platform in options.ModulePlatforms)
        {
            log.WriteLine($"Compiling the module for {platform} ...");
            if (await NativeBinaries.AddAsync(build, platform) is { } missing)
            {
                log.WriteLine($"SKIPPED: the module starts more slowly on {platform}: {missing}");
            }
        }

        log.WriteLine("Packing the module ...");
        string folder = ModuleFolder.Make(root, build.ModuleBinaries, _output, manifest);
        string package = Path.Combine(gallery, $"ProtoRpc.{manifest.Version}.nupkg");
        ModulePackage.Write(package, folder, manifest, commit.Time);
        ShippedPackage[] all =
        [
            .. ((string[])[Compiler, "ProtoRpc", Tool])
                .SelectMany(project => ShippedPackages.Read(build.AssetsOf(project)))
                .Distinct(),
        ];
        Add(package, all.Where(p => p.IsIn(build.ModuleBinaries)), hasThem: true);

        ShippedPackage[] tools = [.. all.Where(p => p.IsIn(build.FolderOf(Tool)))];

        string manual = await build.WriteManualAsync(Tool);
        foreach (string project in (string[])[.. Libraries, Compiler, Tool])
        {
            log.WriteLine($"Packing {project} ...");
            PackFailure.Require(await build.RunAsync(
                "pack", $"lib/{project}", "--no-build", "-o", packages, $"-p:ManualPage={manual}"));
            IEnumerable<ShippedPackage> used = ShippedPackages.Read(build.AssetsOf(project));
            Add(
                Path.Combine(packages, $"{project}.{manifest.Version}.nupkg"),
                project switch
                {
                    Tool => tools,
                    Compiler => used,
                    // These packages are only used at compile time, with protoc.
                    _ => used.Where(p => !p.IsOfCompiler),
                },
                hasThem: project is Tool or Compiler);
        }

        ToolArchive archive = new(root, build, manifest.Version, manual, commit.Time);
        string archives = Fresh("archives");
        foreach (string platform in options.Platforms)
        {
            log.WriteLine($"Packing the tool for {platform} ...");
            (PackedArtifact? made, string? missing) = await archive.MakeAsync(archives, platform, tools);
            if (made is null)
            {
                log.WriteLine($"SKIPPED: there is no archive for {platform}: {missing}");
            }
            else
            {
                _made.Add(made);
            }
        }

        string bill = Path.Combine(_output, $"ProtoRpc-{manifest.Version}.spdx.json");
        File.WriteAllText(bill, SpdxDocument.Make(_output, manifest, commit.Id, commit.Time, _made));
        string[] files =
            [bill, .. _made.Select(made => made.File), .. Directory.EnumerateFiles(packages, "*.snupkg")];
        Checksums.Write(_output, files);
        foreach (string file in files)
        {
            log.WriteLine($"{new FileInfo(file).Length,12:N0} {Path.GetRelativePath(_output, file)}");
        }

        log.WriteLine($"The packages are in {_output}");
    }

    // Files of an earlier run must not become part of this one.
    private string Fresh(string name)
    {
        string folder = Path.Combine(_output, name);
        if (Directory.Exists(folder))
        {
            Directory.Delete(folder, recursive: true);
        }

        return Directory.CreateDirectory(folder).FullName;
    }

    private void Add(string file, IEnumerable<ShippedPackage> packages, bool hasThem) =>
        _made.Add(new PackedArtifact(file, [.. packages.Distinct()], hasThem));
}

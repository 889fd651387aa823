using System.IO.Compression;
using ProtoRpc.TestRun.Packing;

namespace ProtoRpc.TestRun;

/// <summary>The tests of the tool, against the assemblies and files of its package instead of those that were
/// built beside the tests; and the start of the archive for Windows.</summary>
internal sealed class PackedToolSuite(string root) : ITestSuite
{
    // The folder of the program in a package of a dotnet tool.
    private const string ToolFolder = "tools/net10.0/any/";

    private static readonly string[] Assemblies = ["ProtoRpc.Tests", "ProtoRpc.Http.Tests"];

    public string Name => "tool";

    public string Needs => "a run of pack before";

    public IReadOnlyList<string> Projects =>
        ["tests/unit/ProtoRpc.Tests.csproj", "tests/http/ProtoRpc.Http.Tests.csproj"];

    // The suite needs the packages of the pack suite.
    public bool Exists => PackSuite.Packages is not null;

    public async Task<SuiteResult> RunAsync(string? filter)
    {
        if (PackSuite.Packages is not { } packages)
        {
            return SuiteResult.Skipped(
                Name, filter is null ? 1 : 0, "there is no package of the tool; add '--suite pack' before");
        }

        string version = ModuleManifest.Read(Path.Combine(root, "ProtoRpc.psd1")).Version;
        string package = Path.Combine(packages, "packages", $"ProtoRpc.Tool.{version}.nupkg");
        SuiteResult sum = SuiteResult.Empty(Name);
        foreach (string project in Assemblies)
        {
            SuiteResult result = await RunAsync(project, package, filter);
            sum = new SuiteResult(
                Name, sum.Counts + result.Counts, [.. sum.Failures, .. result.Failures],
                [.. sum.Skips, .. result.Skips]);
        }

        return filter is null ? await StartForWindowsAsync(sum, packages, package) : sum;
    }

    private async Task<SuiteResult> StartForWindowsAsync(SuiteResult sum, string packages, string package)
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-tests-");
        try
        {
            Unpack(package, folder.FullName);
            SuiteResult result = await new WindowsArchive(root, packages).RunAsync(
                Name, Path.Combine(folder.FullName, "ProtoRpc.Tool.dll"));
            return new SuiteResult(
                Name, sum.Counts + result.Counts, [.. sum.Failures, .. result.Failures],
                [.. sum.Skips, .. result.Skips]);
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    private async Task<SuiteResult> RunAsync(string project, string package, string? filter)
    {
        // In the repository's folder, because the tests find the repository's files from there.
        string folder = Path.Combine(root, "artifacts", "packed", "tests", project);
        try
        {
            Copy(Path.Combine(root, "artifacts", "bin", project, "debug"), folder);
            Unpack(package, folder);
            string assembly = Path.Combine(folder, $"{project}.dll");
            return await new XunitSuite($"{Name}: {project}", root, assembly, ".Tool.").RunAsync(filter);
        }
        finally
        {
            if (Directory.Exists(folder))
            {
                Directory.Delete(folder, recursive: true);
            }
        }
    }

    private static void Copy(string folder, string target)
    {
        foreach (string file in Directory.EnumerateFiles(folder, "*", SearchOption.AllDirectories))
        {
            string copy = Path.Combine(target, Path.GetRelativePath(folder, file));
            Directory.CreateDirectory(Path.GetDirectoryName(copy)!);
            File.Copy(file, copy, overwrite: true);
        }
    }

    private static void Unpack(string package, string folder)
    {
        using ZipArchive archive = ZipFile.OpenRead(package);
        foreach (ZipArchiveEntry entry in archive.Entries
            .Where(entry => entry.FullName.StartsWith(ToolFolder, StringComparison.Ordinal)))
        {
            string target = Path.Combine(folder, entry.FullName[ToolFolder.Length..]);
            Directory.CreateDirectory(Path.GetDirectoryName(target)!);
            entry.ExtractToFile(target, overwrite: true);
        }
    }
}

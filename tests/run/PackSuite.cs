using ProtoRpc.TestRun.Packing;
using ProtoRpc.Tool.Processes;

namespace ProtoRpc.TestRun;

/// <summary>Packs two copies of the repository in different folders and compares the bytes. Later suites test
/// the packages that this suite made.</summary>
internal sealed class PackSuite(string root) : ITestSuite
{
    /// <summary>The variable that names the folder of packages, for the suites that run later.</summary>
    public const string PackagesVariable = "PROTORPC_PACKAGES";

    /// <summary>The folder of packages, or null before the suite ran.</summary>
    public static string? Packages => Environment.GetEnvironmentVariable(PackagesVariable);

    // tests/pester/common.ps1 imports the module in this variable.
    private const string ModuleVariable = "PROTORPC_MODULE";

    private static readonly TimeSpan GitLimit = TimeSpan.FromMinutes(1);

    public string Name => "pack";

    public string Needs => "git";

    public bool Exists => true;

    public async Task<SuiteResult> RunAsync(string? filter)
    {
        if (filter is not null)
        {
            return SuiteResult.Empty(Name);
        }

        // In the repository's folder, because the tests find the repository's files from there.
        string kept = Path.Combine(root, "artifacts", "packed");
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-tests-");
        try
        {
            string one = await CopyAsync(Path.Combine(folder.FullName, "one"));
            string two = await CopyAsync(Path.Combine(folder.FullName, "another-folder", "two"));
            string again = Path.Combine(folder.FullName, "again");
            string[] own = [PackOptions.ThisPlatform];

            // At the same time: one build alone leaves processors idle while it restores, compiles the first
            // library and writes packages.
            await Task.WhenAll(
                PackAsync(one, new PackOptions(kept, own, Tag: null) { ModulePlatforms = own }),
                PackAsync(two, new PackOptions(again, [], Tag: null) { ModulePlatforms = own }));

            Environment.SetEnvironmentVariable(PackagesVariable, kept);
            Environment.SetEnvironmentVariable(
                ModuleVariable,
                Directory.GetFiles(
                    Path.Combine(kept, "ProtoRpc"), "ProtoRpc.psd1", SearchOption.AllDirectories)[0]);
            return Compare(Name, kept, again);
        }
        catch (PackFailure e)
        {
            return SuiteResult.Empty(Name).WithFailure("pack: the packages", e.Message);
        }
        finally
        {
            Delete(folder);
        }
    }

    /// <summary>Compares the files that both folders should have. The bill of materials, the sums and
    /// archives name what only one of them packed.</summary>
    internal static SuiteResult Compare(string suite, string one, string other)
    {
        string[] files =
        [
            .. Under(one).Concat(Under(other)).Distinct().Order(StringComparer.Ordinal)
                .Where(name => name.Contains('/') && !name.StartsWith("archives/", StringComparison.Ordinal)),
        ];
        if (files.Length == 0)
        {
            return SuiteResult.Empty(suite).WithFailure($"{suite}: the packages", "Nothing was packed.");
        }

        string[] different =
            [.. files.Where(name => !AreEqual(Path.Combine(one, name), Path.Combine(other, name)))];
        return different.Aggregate(
            SuiteResult.Empty(suite) with { Counts = new TestCounts(files.Length - different.Length, 0, 0) },
            (result, name) => result.WithFailure(
                $"{suite}: {name}", "Packing the same files in two folders gave different bytes."));
    }

    private static IEnumerable<string> Under(string folder) =>
        Directory.EnumerateFiles(folder, "*", SearchOption.AllDirectories)
            .Select(file => Path.GetRelativePath(folder, file).Replace('\\', '/'));

    private static bool AreEqual(string one, string other) =>
        File.Exists(one) && File.Exists(other) && Checksums.Of(one) == Checksums.Of(other);

    // git marks its files as read-only, and Windows does not delete those.
    private static void Delete(DirectoryInfo folder)
    {
        if (OperatingSystem.IsWindows())
        {
            foreach (FileInfo file in folder.EnumerateFiles("*", SearchOption.AllDirectories))
            {
                file.IsReadOnly = false;
            }
        }

        folder.Delete(recursive: true);
    }

    private async Task PackAsync(string copy, PackOptions options)
    {
        // The suite of the tool also starts the archive for Windows where it can.
        if (options.Platforms.Count > 0)
        {
            string[] further = await WindowsArchive.PlatformsAsync(root);
            options = options with { Platforms = [.. options.Platforms, .. further] };
        }

        using StringWriter log = new();
        await new Packer(copy, options, log).RunAsync();
        foreach (string line in log.ToString().Split('\n'))
        {
            if (line.StartsWith("SKIPPED", StringComparison.Ordinal))
            {
                Console.WriteLine($"  {line}");
            }
        }
    }

    // A clone with the current files, including those that are not committed.
    private async Task<string> CopyAsync(string target)
    {
        ChildProcess.Result clone = await ChildProcess.RunAsync(
            "git", ["clone", "--quiet", "--no-checkout", root, target], root, GitLimit);
        ChildProcess.Result files = await ChildProcess.RunAsync(
            "git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], root, GitLimit);
        if (!clone.Succeeded || !files.Succeeded)
        {
            throw new PackFailure($"The repository cannot be cloned: {clone.Text}\n{files.Text}");
        }

        // The address of the public repository, so that symbols refer to its sources.
        await ChildProcess.RunAsync(
            "git",
            [
                "remote", "set-url", "origin",
                ModuleManifest.Read(Path.Combine(root, "ProtoRpc.psd1")).Value("ProjectUri"),
            ],
            target, GitLimit);
        foreach (string name in files.Text.Split('\0', StringSplitOptions.RemoveEmptyEntries))
        {
            string source = Path.Combine(root, name);
            if (File.Exists(source))
            {
                string copy = Path.Combine(target, name);
                Directory.CreateDirectory(Path.GetDirectoryName(copy)!);
                File.Copy(source, copy, overwrite: true);
            }
        }

        return target;
    }
}

using System.Text.RegularExpressions;
using ProtoRpc.Tool.Processes;

namespace ProtoRpc.TestRun;

/// <summary>The module's Pester tests, in fresh shells. They are skipped, with their number, if there is no
/// PowerShell or no Pester.</summary>
/// <param name="root">The repository.</param>
/// <param name="only">The names of the files to run, or null for all.</param>
internal sealed partial class PesterSuite(string root, IReadOnlyList<string>? only = null) : ITestSuite
{
    private const string PesterProject = "tests/pester/Pester.csproj";

    // Without the packages of the pack suite, the set-up of this file takes longer than all other files.
    private const string PackageFile = "Package.Tests.ps1";

    // One for each core of a small machine. The test files share no names, ports or folders.
    private static readonly int Shells = Math.Min(2, Environment.ProcessorCount);

    private static readonly TimeSpan RestoreLimit = TimeSpan.FromMinutes(3);

    private string Folder => Path.Combine(root, "tests", "pester");

    public string Name => "pester";

    public string Needs => "PowerShell 7.6 and Pester 5, which are restored from NuGet";

    public IReadOnlyList<string> Projects => ["cmdlets/ProtoRpc.PowerShell/ProtoRpc.PowerShell.csproj"];

    public bool Exists => Directory.Exists(Folder);

    public async Task<SuiteResult> RunAsync(string? filter)
    {
        string[] all = Directory.GetFiles(Folder, "*.Tests.ps1");
        string[] files = only is null && filter is null && PackSuite.Packages is null
            ? [.. all.Where(file => Path.GetFileName(file) != PackageFile)]
            : [.. all.Where(file => only?.Contains(Path.GetFileName(file)) ?? true)];
        if (files.Length == 0)
        {
            return SuiteResult.Empty(Name);
        }

        (string? shell, string whyNot) = await TestShell.FindAsync(root);
        if (shell is null)
        {
            return Skip(files, filter, $"{whyNot}; install PowerShell 7.6 or newer");
        }

        (string? pester, whyNot) = await RestorePesterAsync();
        if (pester is null)
        {
            return Skip(files, filter, whyNot);
        }

        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-tests-");
        try
        {
            PesterQueue queue = new(folder.FullName, files);
            SuiteResult[] results = await Task.WhenAll(
                Enumerable.Range(0, Math.Min(Shells, files.Length))
                    .Select(_ => new PesterShell(Name, shell, pester, root).RunAsync(queue, filter)));
            SuiteResult sum = results.Aggregate((one, other) => one.With(other));
            if (sum.Counts.Total == 0 && filter is null)
            {
                return sum.WithFailure($"{Name}: the whole run", "not one test ran");
            }

            return files.Length == all.Length || only is not null
                ? sum
                : sum.With(Skip(
                    [Path.Combine(Folder, PackageFile)], filter,
                    "these tests of packages need a run of pack before; add --suite pack, or --all"));
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    /// <summary>How many tests a file has, read from its text: at least one.</summary>
    internal static int CountTests(string script) => Math.Max(1, TestHead().Count(script));

    private async Task<(string? Manifest, string WhyNot)> RestorePesterAsync()
    {
        ChildProcess.Result restore = await ChildProcess.RunAsync(
            "dotnet", ["restore", PesterProject, "-v", "q"], root, RestoreLimit);
        ChildProcess.Result place = await ChildProcess.RunAsync(
            "dotnet", ["msbuild", PesterProject, "-getProperty:PesterManifest"], root, RestoreLimit);
        string manifest = place.Text.Trim();
        return restore.Succeeded && place.Succeeded && File.Exists(manifest)
            ? (manifest, "")
            : (null, $"Pester could not be restored from NuGet: {restore.Text.Trim()} {manifest}");
    }

    // With a filter, the tests that would have run are unknown, so none is counted.
    private SuiteResult Skip(string[] files, string? filter, string reason)
    {
        int count = filter is null ? files.Sum(file => CountTests(File.ReadAllText(file))) : 0;
        return SuiteResult.Skipped(Name, count, reason);
    }

    [GeneratedRegex(@"^\s*It\s+['""]", RegexOptions.Multiline)]
    private static partial Regex TestHead();
}

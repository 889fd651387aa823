using System.Text.RegularExpressions;
using ProtoRpc.Tool.Processes;

namespace ProtoRpc.TestRun;

/// <summary>The Pester files that belong to cmdlets, or to what changed.</summary>
internal static partial class ChangedTests
{
    private const string CmdletFolder = "cmdlets/ProtoRpc.PowerShell/";
    private const string PesterFolder = "tests/pester/";
    private const string TestFile = ".Tests.ps1";

    private static readonly TimeSpan GitLimit = TimeSpan.FromMinutes(1);

    /// <summary>The files that differ from the upstream branch. If there is no upstream branch, or no file
    /// differs, the files of the last commit. Paths are relative to the root, with <c>/</c> between folders.
    /// Empty outside of git.</summary>
    public static async Task<IReadOnlyList<string>> FindChangedAsync(string root)
    {
        IReadOnlyList<string> upstream = await GitAsync("merge-base", "HEAD", "@{upstream}");
        IReadOnlyList<string> changed =
        [
            .. await GitAsync("diff", "--name-only", upstream is [string start] ? start : "HEAD"),
            .. await GitAsync("ls-files", "--others", "--exclude-standard"),
        ];
        return changed.Count > 0 ? changed : await GitAsync("diff", "--name-only", "HEAD~1");

        async Task<IReadOnlyList<string>> GitAsync(params string[] arguments)
        {
            ChildProcess.Result run = await ChildProcess.RunAsync("git", arguments, root, GitLimit);
            return run.Succeeded ? run.Lines : [];
        }
    }

    /// <summary>The names of the test files of cmdlets: the file with the cmdlet's name, or all files that
    /// name the cmdlet where no file has its name.</summary>
    /// <exception cref="ArgumentException">No file tests one of the cmdlets.</exception>
    public static IReadOnlyList<string> OfCmdlets(string root, IEnumerable<string> cmdlets) =>
        [
            .. cmdlets.SelectMany(cmdlet => Of(root, cmdlet) is [_, ..] found
                ? found
                : throw new ArgumentException($"No file in {PesterFolder} names '{cmdlet}'.")).Distinct(),
        ];

    /// <summary>The names of the test files that changed, and of those of the cmdlets whose folder or page
    /// changed.</summary>
    public static IReadOnlyList<string> OfChanges(string root, IEnumerable<string> changed)
    {
        List<string> tests = [];
        List<string> cmdlets = [];
        foreach (string path in changed.Where(path => File.Exists(Path.Combine(root, path))))
        {
            if (path.StartsWith(PesterFolder, StringComparison.Ordinal)
                && path.EndsWith(TestFile, StringComparison.Ordinal))
            {
                tests.Add(NameOf(path));
            }
            else if (HelpPage().Match(path) is { Success: true } page)
            {
                cmdlets.Add(page.Groups[1].Value);
            }
            else if (path.StartsWith(CmdletFolder, StringComparison.Ordinal)
                && path.EndsWith(".cs", StringComparison.Ordinal))
            {
                cmdlets.AddRange(CmdletsOf(Path.GetDirectoryName(Path.Combine(root, path))!));
            }
        }

        return [.. tests.Concat(cmdlets.Distinct().SelectMany(cmdlet => Of(root, cmdlet))).Distinct()];
    }

    private static string[] Of(string root, string cmdlet)
    {
        string[] files = Directory.GetFiles(Path.Combine(root, PesterFolder), "*" + TestFile);
        string? own = files.FirstOrDefault(
            file => NameOf(file).Equals(cmdlet + TestFile, StringComparison.OrdinalIgnoreCase));
        return own is not null
            ? [NameOf(own)]
            : [
                .. files
                    .Where(file => File.ReadAllText(file)
                        .Contains(cmdlet, StringComparison.OrdinalIgnoreCase))
                    .Select(NameOf),
            ];
    }

    private static IEnumerable<string> CmdletsOf(string folder) =>
        Directory.EnumerateFiles(folder, "*.cs")
            .SelectMany(file => CmdletAttribute().Matches(File.ReadAllText(file)))
            .Select(match => $"{match.Groups[1].Value}-{match.Groups[2].Value}");

    private static string NameOf(string path) => Path.GetFileName(path);

    [GeneratedRegex("^docs/en-US/([A-Z][a-z]+-Rpc[A-Za-z]+)[.]md$")]
    private static partial Regex HelpPage();

    [GeneratedRegex("""\[Cmdlet\(\s*Verbs\w+\.(\w+),\s*"(Rpc\w+)""")]
    private static partial Regex CmdletAttribute();
}

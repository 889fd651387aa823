using System.Globalization;
using System.Text.RegularExpressions;
using ProtoRpc.Tool.Processes;

namespace ProtoRpc.TestRun.Windows;

/// <summary>A Wine of this machine: the installed one, or one in a root of another Debian.</summary>
/// <param name="Version">As it prints it, for example <c>wine-10.0 (Debian 10.0~repack-6)</c>.</param>
/// <param name="Script">Enters the root.</param>
/// <param name="Root">The root, or null.</param>
/// <param name="Repository">The folder that is to be seen in the root.</param>
internal sealed partial record WineInstallation(
    string Version, string Script, string? Root, string Repository)
{
    /// <summary>The oldest version that runs all tests.</summary>
    public const int Needed = 10;

    /// <summary>Names the root.</summary>
    public const string Variable = "PROTORPC_WINE_ROOT";

    private static readonly TimeSpan StartLimit = TimeSpan.FromMinutes(2);

    /// <summary>Whether it runs all tests.</summary>
    public bool RunsAll => MajorOf(Version) >= Needed;

    /// <summary>Finds it: the one in the root if that is named, else the installed one.</summary>
    /// <returns>Null, and why.</returns>
    public static async Task<(WineInstallation? Wine, string WhyNot)> FindAsync(string repository)
    {
        string script = Path.Combine(repository, "tests", "windows", "in-root.sh");
        string? root = Environment.GetEnvironmentVariable(Variable);
        WineInstallation wine = new("", script, string.IsNullOrEmpty(root) ? null : root, repository);
        (string program, IEnumerable<string> arguments) = wine.Command("", "wine", ["--version"]);
        ChildProcess.Result run = await ChildProcess.RunAsync(program, arguments, repository, StartLimit);
        string? version = run.Lines.FirstOrDefault(line => MajorOf(line) > 0);
        return run.Succeeded && version is not null
            ? ((WineInstallation?)(wine with { Version = version }), "")
            : wine.Root is null ? (null, "wine is not installed")
            : throw new FormatException(
                $"{Variable} names '{root}', and wine does not start there: {run.Text}");
    }

    /// <summary>The number before the first point, or 0.</summary>
    internal static int MajorOf(string version) => VersionText().Match(version) is { Success: true } match
        ? int.Parse(match.Groups[1].Value, CultureInfo.InvariantCulture)
        : 0;

    /// <summary>A Windows of its own.</summary>
    /// <param name="prefix">Its folder, below the repository; replaced.</param>
    public async Task<WineWorld> OpenAsync(string prefix)
    {
        if (Directory.Exists(prefix))
        {
            Directory.Delete(prefix, recursive: true);
        }

        Directory.CreateDirectory(Path.GetDirectoryName(prefix)!);
        WineWorld world = new(this, prefix);
        if (Root is null)
        {
            // The first program that runs creates the prefix.
            return world;
        }

        // Wine's server writes the registry when it ends. In a root, all processes end with the first one, so
        // this waits for the server.
        ChildProcess.Result boot = await world.RunToolAsync(
            "sh", ["-c", "wineboot --init && wineserver -w"], StartLimit);
        return boot.Succeeded
            ? world
            : throw new FormatException($"Wine does not start in '{prefix}': {boot.Text}");
    }

    /// <summary>How to start a program of Wine's.</summary>
    public (string Program, IEnumerable<string> Arguments) Command(
        string prefix, string tool, IEnumerable<string> arguments)
    {
        // With pages mapped twice (W^X), the runtime crashes when it frees generated code. Wine 10 reports
        // AVX-512 but saves only half of each register when a thread is suspended, which damages copies.
        string[] environment =
        [
            "WINEDEBUG=-all", "DISPLAY=", "DOTNET_EnableWriteXorExecute=0", "DOTNET_EnableAVX512=0",
            .. prefix.Length > 0 ? [$"WINEPREFIX={prefix}"] : Array.Empty<string>(),
        ];
        return Root is null
            ? ("env", [.. environment, tool, .. arguments])
            : ("unshare",
                [
                    "--mount", "--pid", "--fork", "--kill-child", "sh", Script, Root, Repository,
                    .. environment, tool, .. arguments,
                ]);
    }

    [GeneratedRegex(@"^wine-(\d{1,4})\b")]
    private static partial Regex VersionText();
}

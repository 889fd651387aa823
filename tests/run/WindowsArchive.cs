using System.Diagnostics;
using System.IO.Compression;
using ProtoRpc.TestRun.Packing;
using ProtoRpc.Tool.Processes;

namespace ProtoRpc.TestRun;

/// <summary>The packed tool for Windows, started by Wine: it shows its version, and calls servers of the
/// packed dotnet tool.</summary>
/// <param name="root">The repository.</param>
/// <param name="packages">The folder of the packages.</param>
internal sealed class WindowsArchive(string root, string packages)
{
    private const string Platform = "win-x64";
    private const string Schema = "search.proto";
    private const string Reply = "http://a.example";

    private static readonly TimeSpan Limit = TimeSpan.FromMinutes(3);

    /// <summary>The platform to pack for where Wine can start it.</summary>
    public static async Task<string[]> PlatformsAsync(string root) =>
        !OperatingSystem.IsWindows()
        && (await ChildProcess.RunAsync("wine", ["--version"], root, Limit)).Succeeded
            ? [Platform]
            : [];

    /// <summary>Starts the archive of a run of the suite <c>pack</c>.</summary>
    /// <param name="suite">The name of the suite.</param>
    /// <param name="tool">The assembly of the packed dotnet tool.</param>
    public async Task<SuiteResult> RunAsync(string suite, string tool)
    {
        string[] archives =
            [.. Directory.EnumerateFiles(Path.Combine(packages, "archives"), $"*-{Platform}.zip")];
        if (archives.Length == 0)
        {
            return SuiteResult.Skipped(
                suite, 1, "wine is not installed, so the archive for Windows is not started");
        }

        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-tests-");
        try
        {
            ZipFile.ExtractToDirectory(archives[0], folder.FullName);
            string program = Directory.GetFiles(
                folder.FullName, "protorpc.exe", SearchOption.AllDirectories)[0];
            SuiteResult result = SuiteResult.Empty(suite);
            result = Judge(
                result, "shows its version", ModuleManifest.Read(Path.Combine(root, "ProtoRpc.psd1")).Version,
                await StartAsync(folder, program, "--version"));
            foreach (string scheme in new[] { "tcp", "grpc", "http" })
            {
                result = Judge(
                    result, $"calls {scheme}", Reply, await CallAsync(folder, program, tool, scheme));
            }

            return result;
        }
        finally
        {
            // Wine's processes are not children of the started one. This waits until all have ended and the
            // registry is written to the folder.
            await ChildProcess.RunAsync("env", [.. Variables(folder), "wineserver", "-k"], root, Limit);
            folder.Delete(recursive: true);
        }
    }

    // The variables of the unit tests under Wine. In addition, a precompiled core library does not load from
    // a single file (E_INVALIDARG, Wine 8).
    private static string[] Variables(DirectoryInfo folder) =>
    [
        "WINEDEBUG=-all", $"WINEPREFIX={Path.Combine(folder.FullName, "prefix")}", "DISPLAY=",
        "DOTNET_EnableWriteXorExecute=0", "DOTNET_EnableAVX512=0", "DOTNET_ReadyToRun=0",
    ];

    private static SuiteResult Judge(
        SuiteResult result, string what, string wanted, ChildProcess.Result run) =>
        run.Succeeded && run.Text.Contains(wanted, StringComparison.Ordinal)
            ? result with { Counts = result.Counts + new TestCounts(1, 0, 0) }
            : result.WithFailure($"{result.Suite}: the archive for Windows {what}", run.Text);

    private Task<ChildProcess.Result> StartAsync(
        DirectoryInfo folder, string program, params string[] arguments) => ChildProcess.RunAsync(
            "env", [.. Variables(folder), "wine", program, .. arguments], folder.FullName, Limit);

    private async Task<ChildProcess.Result> CallAsync(
        DirectoryInfo folder, string program, string tool, string scheme)
    {
        string schema = Path.Combine(root, "protos", Schema);
        ProcessStartInfo start = new("dotnet")
        {
            RedirectStandardOutput = true,
            ArgumentList =
            {
                "exec", tool, "listen", $"{scheme}://127.0.0.1:0", "--schema", schema, "--reply",
                $"{{\"result\":[{{\"url\":\"{Reply}\"}}]}}",
                "--quiet",
            },
        };
        using Process server = Process.Start(start)!;
        try
        {
            string line = await server.StandardOutput.ReadLineAsync().WaitAsync(Limit) ?? "";
            File.Copy(schema, Path.Combine(folder.FullName, Schema), overwrite: true);
            return await StartAsync(
                folder, program, "call", line["Listening on ".Length..].Trim(), "Search", "-d",
                "{\"query\":\"x\"}", "--schema", Schema);
        }
        finally
        {
            server.Kill();
            await server.WaitForExitAsync();
        }
    }
}

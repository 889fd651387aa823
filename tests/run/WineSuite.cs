using ProtoRpc.Tool.Processes;

namespace ProtoRpc.TestRun;

/// <summary>Unit tests built for Windows, the demo among them,
/// run by Wine where there is no Windows.</summary>
internal sealed class WineSuite(string root, TimeSpan limit) : ITestSuite
{
    private const string Project = "tests/windows/WindowsTests.csproj";

    // Of the others, exceptions or compiled expressions end the process or stop it (seen with Wine 8).
    private static readonly string[] Folders =
    [
        "Protocols.Dce", "Protocols.Http",
        "Protocols.Grpc.GrpcFramingTests", "Protocols.Grpc.GrpcHeaderTests",
        "Endpoints.EndpointFileWindowsTests", "Transports.Lrpc", "Transports.Messages",
        "Shared.RpcEndpointTests", "Shared.RpcStatusTableTests", "Shared.TerminalTextTests", "Tool",
    ];

    // Its NTLM is done by a program of winbind's, which may not be installed.
    private static readonly string[] Ntlm = File.Exists("/usr/bin/ntlm_auth") ? ["Security.Sspi"] : [];

    private static readonly TimeSpan StartLimit = TimeSpan.FromMinutes(2);

    public string Name => "windows";

    // On Windows the unit tests have run already.
    public bool Exists => !OperatingSystem.IsWindows() && File.Exists(Path.Combine(root, Project));

    public async Task<SuiteResult> RunAsync(string? filter)
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-tests-");
        string prefix = Path.Combine(folder.FullName, "prefix");
        // With pages mapped twice, the runtime dies when it frees code that it made on the way (Wine 8).
        string[] wine =
            ["WINEDEBUG=-all", $"WINEPREFIX={prefix}", "DISPLAY=", "DOTNET_EnableWriteXorExecute=0"];
        try
        {
            ChildProcess.Result version = await ChildProcess.RunAsync(
                "wine", ["--version"], root, StartLimit);
            if (!version.Succeeded)
            {
                return SuiteResult.Skipped(Name, filter is null ? 1 : 0, "wine is not installed");
            }

            string program = Path.Combine(folder.FullName, "program");
            ChildProcess.Result publish = await ChildProcess.RunAsync(
                "dotnet",
                [
                    "publish", Project, "-r", "win-x64", "--self-contained", "-o", program,
                    "--nologo", "-v", "q",
                ],
                root,
                limit);
            if (!publish.Succeeded)
            {
                return SuiteResult.Empty(Name).WithFailure("windows: the build", publish.Text);
            }

            string report = Path.Combine(program, "report.json");
            IEnumerable<string> arguments =
            [
                .. wine, "wine", Path.Combine(program, "WindowsTests.exe"), "report.json", filter ?? "",
                .. Folders.Concat(Ntlm).Select(name => $"ProtoRpc.Tests.{name}."),
            ];
            ChildProcess.Result run = await ChildProcess.RunAsync("env", arguments, program, limit);
            return Judge(run, report, filter);
        }
        finally
        {
            // Wine's processes are not children of the one that was started.
            await ChildProcess.RunAsync("env", [.. wine, "wineboot", "--kill", "--force"], root, StartLimit);
            folder.Delete(recursive: true);
        }
    }

    private SuiteResult Judge(ChildProcess.Result run, string report, string? filter)
    {
        string tail = string.Join('\n', run.Lines.TakeLast(30));
        if (!run.Succeeded || !File.Exists(report))
        {
            string end = run.TimedOut
                ? $"did not end in {limit.TotalMinutes} minutes"
                : $"ended with {run.ExitCode}";
            return SuiteResult.Empty(Name).WithFailure("windows: the whole run", $"{end}\n{tail}");
        }

        try
        {
            SuiteResult result = JsonReport.Read(Name, File.ReadAllText(report));
            return result.Counts.Total == 0 && filter is null
                ? result.WithFailure("windows: the whole run", $"not one test ran\n{tail}")
                : result;
        }
        catch (FormatException e)
        {
            return SuiteResult.Empty(Name).WithFailure("windows: the whole run", $"{e.Message}\n{tail}");
        }
    }
}

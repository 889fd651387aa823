using ProtoRpc.Tool.Verbs;

namespace ProtoRpc.Tests.Tool;

public static class DemoVerbTests
{
    private const string Shell = "pwsh --version";
    private const string Build = "dotnet build cmdlets/ProtoRpc.PowerShell";
    private const string Script = "pwsh -NoProfile -NonInteractive -File ";

    // It has no tool manifest, so that only the pwsh on PATH counts.
    private static readonly string Folder = AppContext.BaseDirectory;

    [Fact]
    public static async Task Builds_the_module_and_runs_the_script_and_names_each_step()
    {
        AnsweringPrograms programs = new AnsweringPrograms()
            .Answer(Shell, 0, "PowerShell 7.6.9").Answer(Build, 0).Answer(Script, 0, "ann says: Hello!");

        ToolRun run = await RunAsync(programs);

        Assert.Equal((0, ""), (run.ExitCode, run.Error));
        Assert.Equal(
            """
            This demo serves and calls a service on three transports, in PowerShell.
            Building the module with 'dotnet build cmdlets/ProtoRpc.PowerShell' ...
            Running examples/hello.ps1 in the PowerShell 7.6.9 on PATH ...
            ann says: Hello!

            """.ReplaceLineEndings("\n"),
            run.Output);
        Assert.EndsWith("hello.ps1", programs.Commands[^1], StringComparison.Ordinal);
    }

    [Fact]
    public static async Task Shows_the_errors_of_a_build_whole_and_ends_with_1()
    {
        AnsweringPrograms programs = new AnsweringPrograms()
            .Answer(Shell, 0, "PowerShell 7.6.9")
            .Answer(Build, 1, "A.cs(1,1): error CS1002", "B.cs: error CS1513");

        ToolRun run = await RunAsync(programs);

        Assert.Equal(1, run.ExitCode);
        Assert.StartsWith(
            "A.cs(1,1): error CS1002\nB.cs: error CS1513\n"
            + "protorpc: The module cannot be built: 'dotnet build cmdlets/ProtoRpc.PowerShell' ended with 1",
            run.Error, StringComparison.Ordinal);
        Assert.Contains("--native", run.Error, StringComparison.Ordinal);
        Assert.DoesNotContain(
            programs.Commands, command => command.StartsWith(Script, StringComparison.Ordinal));
    }

    [Theory]
    [InlineData(7, "examples/hello.ps1 ended with 7")]
    [InlineData(null, "examples/hello.ps1 did not end in 2 minutes")]
    public static async Task A_script_that_fails_ends_with_1(int? exitCode, string expected)
    {
        AnsweringPrograms programs = new AnsweringPrograms()
            .Answer(Shell, 0, "PowerShell 7.6.9").Answer(Build, 0).Answer(Script, exitCode);

        ToolRun run = await RunAsync(programs);

        Assert.Equal(1, run.ExitCode);
        Assert.Contains(expected, run.Error, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(null, "no pwsh on PATH runs")]
    [InlineData("PowerShell 7.4.6", "the pwsh on PATH is 7.4.6, older than 7.6")]
    public static async Task Without_PowerShell_it_says_why_and_runs_in_csharp(string? version, string why)
    {
        AnsweringPrograms programs = new();
        if (version is not null)
        {
            programs.Answer(Shell, 0, version);
        }

        ToolRun run = await RunAsync(programs);

        Assert.Equal(0, run.ExitCode);
        Assert.Equal(
            $"protorpc: There is no PowerShell to run the module in: {why}. "
            + $"Install PowerShell 7.6 or newer, or download it: run 'dotnet tool restore' in {Folder}.\n",
            run.Error);
        Assert.Contains("Running in C# instead.\n", run.Output, StringComparison.Ordinal);
        Assert.Contains(" says: Hello via TCP!\n", run.Output, StringComparison.Ordinal);
        Assert.Equal([Shell], programs.Commands);
    }

    [Theory]
    [InlineData(true, true, "--native asks for it")]
    [InlineData(false, false, "the PowerShell module is not in this folder or one above")]
    public static async Task Runs_in_csharp_on_request_and_outside_of_a_repository(
        bool isRepository, bool native, string why)
    {
        AnsweringPrograms programs = new();

        ToolRun run = await RunAsync(programs, isRepository ? Folder : null, native);

        Assert.Equal((0, ""), (run.ExitCode, run.Error));
        Assert.StartsWith($"Running in C#: {why}.\n", run.Output, StringComparison.Ordinal);
        Assert.Contains(" says: Hello via LRPC!\n", run.Output, StringComparison.Ordinal);
        Assert.Empty(programs.Commands);
    }

    private static Task<ToolRun> RunAsync(AnsweringPrograms programs) =>
        RunAsync(programs, Folder, native: false);

    private static Task<ToolRun> RunAsync(AnsweringPrograms programs, string? folder, bool native) =>
        ToolRun.RunAsync(console => DemoVerb.RunAsync(console, native, folder, programs.RunAsync, default));
}

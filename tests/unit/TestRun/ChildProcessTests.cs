extern alias runner;

using System.Diagnostics;
using runner::ProtoRpc.Tool.Processes;

namespace ProtoRpc.Tests.TestRun;

public static class ChildProcessTests
{
    private static readonly TimeSpan Long = TimeSpan.FromSeconds(60);

    [Fact]
    public static async Task Keeps_what_was_printed_and_the_exit_code()
    {
        ChildProcess.Result result = await ChildProcess.RunAsync("dotnet", ["--version"], ".", Long);

        Assert.True(result.Succeeded);
        Assert.StartsWith("10.", Assert.Single(result.Lines), StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_program_that_does_not_exist_is_a_result_not_an_exception()
    {
        ChildProcess.Result result = await ChildProcess.RunAsync("no-such-program", [], ".", Long);

        Assert.False(result.Succeeded);
        Assert.Contains("no-such-program", result.Text, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task Ends_a_program_and_its_children_at_the_limit()
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        long start = Stopwatch.GetTimestamp();

        ChildProcess.Result result = await ChildProcess.RunAsync(
            "sh", ["-c", "echo begun; sleep 600 & sleep 600"], ".", TimeSpan.FromSeconds(1));

        Assert.True(result.TimedOut);
        Assert.Null(result.ExitCode);
        Assert.Equal("begun", result.Text);
        Assert.True(Stopwatch.GetElapsedTime(start) < Long);
    }

    [Fact]
    public static async Task Progress_begins_the_limit_again_and_other_lines_do_not()
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        ChildProcess.Result result = await ChildProcess.RunUntilSilentAsync(
            "sh",
            [
                "-c",
                "for i in 1 2 3 4; do sleep 1; echo test; done; while sleep 1; do echo noise; done",
            ],
            ".", TimeSpan.FromSeconds(3), line => line == "test");

        Assert.True(result.TimedOut);
        Assert.Equal(4, result.Lines.Count(line => line == "test"));
        Assert.InRange(result.Lines.Count(line => line == "noise"), 0, 7);
    }
}

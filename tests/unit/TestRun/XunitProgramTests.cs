using System.Diagnostics;
using ProtoRpc.TestRun;

namespace ProtoRpc.Tests.TestRun;

public static class XunitProgramTests
{
    private const string Passes = """
        say '{"$type":"test-starting","TestUniqueID":"1","TestDisplayName":"A.Works"}'
        say '{"$type":"test-passed","TestUniqueID":"1"}'
        say '{"$type":"test-finished","TestUniqueID":"1"}'
        """;

    private const string Hangs = """
        say '{"$type":"test-starting","TestUniqueID":"2","TestDisplayName":"A.Hangs"}'
        exec sleep 600
        """;

    private const string Ends = """
        say '{"$type":"test-assembly-finished","TestsTotal":1,"TestsNotRun":0}'
        """;

    private static readonly TimeSpan Long = TimeSpan.FromMinutes(2);
    private static readonly TimeSpan Short = TimeSpan.FromSeconds(5);

    [UnixFact]
    public static async Task A_program_that_says_nothing_is_ended_and_what_came_before_counts()
    {
        Stopwatch watch = Stopwatch.StartNew();

        SuiteResult result = await RunAsync(Short, Passes, Hangs);

        Assert.True(watch.Elapsed < Long, $"it took {watch.Elapsed}");
        Assert.Equal(new TestCounts(1, 1, 0), result.Counts);
        TestCase hung = Assert.Single(result.Failures);
        Assert.Equal("A.Hangs", hung.Name);
        Assert.StartsWith(
            "ran when the program was ended because no test had ended for 0.08 minutes", hung.Message,
            StringComparison.Ordinal);
    }

    [UnixFact]
    public static async Task A_program_that_comes_to_its_end_counts()
    {
        SuiteResult result = await RunAsync(Long, Passes, Ends);

        Assert.Empty(result.Failures);
        Assert.Equal(new TestCounts(1, 0, 0), result.Counts);
    }

    [UnixFact]
    public static async Task An_exit_code_that_no_failed_test_explains_is_a_failure()
    {
        SuiteResult result = await RunAsync(Long, Passes, Ends, "echo why >&2; exit 1");

        TestCase failure = Assert.Single(result.Failures);
        Assert.Equal(new TestCase("unit: the whole run", "ended with 1\nwhy"), failure);
        Assert.Equal(new TestCounts(1, 1, 0), result.Counts);
    }

    private static Task<SuiteResult> RunAsync(TimeSpan silence, params string[] script) =>
        new XunitProgram("unit", silence).RunAsync(
            "sh",
            ["-c", $"say() {{ printf '%s\\n' \"$1\"; }}\n{string.Join('\n', script)}"],
            Path.GetTempPath());
}

extern alias runner;

using ProtoRpc.TestRun;
using runner::ProtoRpc.Tool.Processes;

namespace ProtoRpc.Tests.TestRun;

public static class PesterShellTests
{
    private static readonly PesterShell Shell = new("pester", "pwsh", "Pester.psd1", ".");

    [Fact]
    public static void Adds_the_results_of_the_files()
    {
        SuiteResult sum = Judge(
            new ChildProcess.Result(0, TimedOut: false, ["BEGIN 0000-A", "  [+] one 1ms", "BEGIN 0001-B"]),
            entry => new SuiteResult("pester", new TestCounts(entry == "0000-A" ? 1 : 4, 0, 0), [], []));

        Assert.Equal(new TestCounts(5, 0, 0), sum.Counts);
    }

    [Fact]
    public static void Counts_what_ran_before_a_hang_and_names_the_file()
    {
        SuiteResult sum = Judge(
            new ChildProcess.Result(
                null, TimedOut: true,
                [
                    "BEGIN 0000-A", "Describing x", "  [+] one 1ms (1ms|0ms)", "    [-] two 2ms (1ms|1ms)",
                    "    Expected 1", "  [!] three 0ms", "  [+] four 1ms",
                ]),
            _ => null);

        Assert.Equal(new TestCounts(2, 2, 1), sum.Counts);
        Assert.Equal("0000-A: [-] two 2ms (1ms|1ms)", sum.Failures[0].Name);
        Assert.Equal("0000-A: the whole file", sum.Failures[1].Name);
        Assert.StartsWith("no test ended for 3 minutes", sum.Failures[1].Message, StringComparison.Ordinal);
        Assert.EndsWith("[+] four 1ms", sum.Failures[1].Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_crash_costs_the_file_that_ran()
    {
        SuiteResult sum = Judge(
            new ChildProcess.Result(134, TimedOut: false, ["BEGIN 0000-A", "BEGIN 0001-B", "  [+] one 1ms"]),
            entry => entry == "0000-A" ? new SuiteResult("pester", new TestCounts(7, 0, 0), [], []) : null);

        Assert.Equal(new TestCounts(8, 1, 0), sum.Counts);
        TestCase failure = Assert.Single(sum.Failures);
        Assert.StartsWith("pwsh ended with 134", failure.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(null, true, "then no test ended for 3 minutes")]
    [InlineData(134, false, "then pwsh ended with 134")]
    public static void A_shell_that_does_not_end_well_is_a_failure(int? code, bool timedOut, string why)
    {
        SuiteResult sum = Judge(
            new ChildProcess.Result(code, timedOut, ["BEGIN 0000-A", "  [+] one 1ms"]),
            _ => new SuiteResult("pester", new TestCounts(1, 0, 0), [], []));

        Assert.Equal(new TestCounts(1, 1, 0), sum.Counts);
        TestCase failure = Assert.Single(sum.Failures);
        Assert.Equal("pester: the end of a shell", failure.Name);
        Assert.Contains(why, failure.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(134)]
    public static void A_result_that_is_not_complete_is_one_failure(int code)
    {
        SuiteResult sum = Judge(
            new ChildProcess.Result(code, TimedOut: false, ["BEGIN 0000-A", "  [+] one 1ms"]),
            _ => JsonReport.Read("pester", "{\"passed\": 1"));

        Assert.Equal(new TestCounts(1, 1, 0), sum.Counts);
    }

    private static SuiteResult Judge(ChildProcess.Result run, Func<string, SuiteResult?> read) =>
        Shell.Judge(run, read);
}

using ProtoRpc.TestRun;

namespace ProtoRpc.Tests.TestRun;

public static class RunSummaryTests
{
    [Fact]
    public static void The_last_line_has_the_sums()
    {
        RunSummary summary = new(
        [
            new SuiteResult("a", new TestCounts(2, 0, 0), [], []),
            SuiteResult.Skipped("b", 3, "no shell"),
        ], []);

        string[] lines = Write(summary);

        Assert.Equal("2 passed, 0 failed, 3 skipped", lines[^1]);
        Assert.Equal("SKIPPED b (3 tests): no shell", lines[0]);
        Assert.True(summary.Succeeded);
    }

    [Fact]
    public static void A_failure_is_shown_with_its_message_and_fails_the_run()
    {
        RunSummary summary = new([SuiteResult.Empty("a").WithFailure("A.Breaks", "Expected 1\nat A")], []);

        string[] lines = Write(summary);

        Assert.Equal(
            ["FAILED A.Breaks", "    Expected 1", "    at A", "0 passed, 1 failed, 0 skipped"], lines);
        Assert.False(summary.Succeeded);
    }

    [Fact]
    public static void A_run_without_a_test_or_with_nothing_but_skips_fails()
    {
        Assert.False(new RunSummary([], []).Succeeded);
        Assert.False(new RunSummary([SuiteResult.Skipped("b", 3, "no shell")], []).Succeeded);
        Assert.Equal("0 passed, 0 failed, 0 skipped", Write(new RunSummary([], []))[^1]);
    }

    [Fact]
    public static void The_suites_that_did_not_run_stand_before_the_sums_with_their_needs()
    {
        string[] lines = Write(new RunSummary(
            [new SuiteResult("a", new TestCounts(1, 0, 0), [], [])],
            [new PesterSuite("."), new StyleSuite(".")]));

        Assert.Equal(
            [
                "Not asked for (add --suite NAME, or --all for everything):",
                "  pester  needs PowerShell 7.6 and Pester 5, which are restored from NuGet",
                "  style",
                "1 passed, 0 failed, 0 skipped",
            ],
            lines);
    }

    private static string[] Write(RunSummary summary)
    {
        using StringWriter output = new() { NewLine = "\n" };
        summary.Write(output);
        return output.ToString().TrimEnd('\n').Split('\n');
    }
}

using ProtoRpc.TestRun;

namespace ProtoRpc.Tests.TestRun;

public static class TrxReportTests
{
    private const string Passed = """<UnitTestResult testName="A.Works" outcome="Passed" />""";
    private const string Skipped = """
        <UnitTestResult testName="A.Waits" outcome="NotExecuted">
          <Output><ErrorInfo><Message>no peer here</Message></ErrorInfo></Output>
        </UnitTestResult>
        """;
    private const string Failed = """
        <UnitTestResult testName="A.Breaks" outcome="Failed">
          <Output>
            <ErrorInfo><Message>Expected 1</Message><StackTrace>at A.Breaks()</StackTrace></ErrorInfo>
          </Output>
        </UnitTestResult>
        """;

    [Fact]
    public static void Counts_every_outcome_and_keeps_names_and_messages()
    {
        SuiteResult result = TrxReport.Read("unit", Report("Failed", 4, Passed, Passed, Skipped, Failed));

        Assert.Equal(new TestCounts(2, 1, 1), result.Counts);
        Assert.Equal(new TestCase("A.Waits", "no peer here"), Assert.Single(result.Skips));
        Assert.Equal(new TestCase("A.Breaks", "Expected 1\nat A.Breaks()"), Assert.Single(result.Failures));
    }

    [Fact]
    public static void A_timeout_or_abort_of_a_test_is_a_failure()
    {
        string aborted = """<UnitTestResult testName="A.Hangs" outcome="Aborted" />""";

        SuiteResult result = TrxReport.Read("unit", Report("Failed", 2, Passed, aborted));

        Assert.Equal(new TestCounts(1, 1, 0), result.Counts);
    }

    [Fact]
    public static void A_run_that_crashed_is_a_failure_though_no_test_failed()
    {
        string crash = """<RunInfo outcome="Error"><Text>The active test run was aborted.</Text></RunInfo>""";

        SuiteResult result = TrxReport.Read("unit", Report("Failed", 1, [Passed], crash));

        Assert.Equal(new TestCounts(1, 1, 0), result.Counts);
        Assert.Equal("The active test run was aborted.", Assert.Single(result.Failures).Message);
    }

    [Fact]
    public static void An_empty_run_counts_nothing()
    {
        Assert.Equal(default, TrxReport.Read("unit", Report("Completed", 0)).Counts);
    }

    [Fact]
    public static void A_report_that_lost_results_is_refused()
    {
        FormatException error = Assert.Throws<FormatException>(
            () => TrxReport.Read("unit", Report("Completed", 2, Passed)));

        Assert.Contains("counts 2 tests and tells of 1", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("")]
    [InlineData("<TestRun")]
    [InlineData(
        "<TestRun xmlns='http://microsoft.com/schemas/VisualStudio/TeamTest/2010'><Results /></TestRun>")]
    public static void A_report_that_was_cut_off_is_refused(string xml)
    {
        Assert.Throws<FormatException>(() => TrxReport.Read("unit", xml));
    }

    private static string Report(string outcome, int total, params string[] results) =>
        Report(outcome, total, results, "");

    private static string Report(string outcome, int total, string[] results, string runInfo) => $"""
        <?xml version="1.0" encoding="utf-8"?>
        <TestRun xmlns="http://microsoft.com/schemas/VisualStudio/TeamTest/2010">
          <Results>{string.Concat(results)}</Results>
          <ResultSummary outcome="{outcome}">
            <Counters total="{total}" />
            <RunInfos>{runInfo}</RunInfos>
          </ResultSummary>
        </TestRun>
        """;
}

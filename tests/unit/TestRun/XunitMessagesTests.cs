using ProtoRpc.TestRun;

namespace ProtoRpc.Tests.TestRun;

public static class XunitMessagesTests
{
    private const string Found = """{"$type":"discovery-complete","TestCasesToRun":4}""";

    [Fact]
    public static void Counts_every_outcome_and_keeps_names_and_messages()
    {
        XunitMessages messages = Read(
        [
            Found,
            .. Test("1", "A.Works", """{"$type":"test-passed","TestUniqueID":"1"}"""),
            .. Test(
                "2", "A.Waits", """{"$type":"test-skipped","TestUniqueID":"2","Reason":"no peer here"}"""),
            .. Test("3", "A.Breaks", Failed("3")),
            End(3),
        ]);

        SuiteResult result = messages.ToResult("ended with 1", byItself: true);

        Assert.Equal(new TestCounts(1, 1, 1), result.Counts);
        Assert.Equal(new TestCase("A.Waits", "no peer here"), Assert.Single(result.Skips));
        Assert.Equal(
            new TestCase("A.Breaks", "E: Expected 1\nat A.Breaks()\n---- F: inside"),
            Assert.Single(result.Failures));
    }

    [Fact]
    public static void Only_the_end_of_a_test_is_progress()
    {
        XunitMessages messages = new("unit");

        Assert.True(messages.Add(Found));
        Assert.False(messages.Add("a line of a test"));
        Assert.Equal(
            [false, false, true],
            Test("1", "A.Works", """{"$type":"test-passed","TestUniqueID":"1"}""").Select(messages.Add));
        Assert.False(messages.Add("""{"$type":"test-finished","TestUniqueID":"1"}"""));
    }

    [Fact]
    public static void A_run_that_breaks_off_names_the_tests_that_ran_and_counts_those_before()
    {
        XunitMessages messages = Read(
        [
            Found,
            .. Test("1", "A.Works", """{"$type":"test-passed","TestUniqueID":"1"}"""),
            Starting("2", "A.Hangs"), Starting("3", "B.Hangs"),
            "Stack overflow.",
            """{"$type":"test-pas""",
        ]);

        SuiteResult result = messages.ToResult("ended with 134", byItself: false);

        Assert.Equal(new TestCounts(1, 2, 0), result.Counts);
        Assert.Equal(["A.Hangs", "B.Hangs"], result.Failures.Select(failure => failure.Name));
        Assert.All(
            result.Failures,
            failure => Assert.StartsWith(
                "ran when the program ended with 134\nStack overflow.\n", failure.Message,
                StringComparison.Ordinal));
    }

    [Fact]
    public static void A_run_that_breaks_off_between_tests_is_a_failure()
    {
        SuiteResult result = Read([Found]).ToResult("ended with 3", byItself: false);

        Assert.Equal(
            new TestCase("unit: the whole run", "ended with 3"), Assert.Single(result.Failures));
    }

    [Fact]
    public static void A_run_without_its_end_is_a_failure_though_the_program_succeeded()
    {
        SuiteResult result = Read([Found]).ToResult("ended with 0", byItself: true);

        Assert.Equal(new TestCounts(0, 1, 0), result.Counts);
    }

    [Fact]
    public static void An_empty_run_counts_nothing() =>
        Assert.Equal(default, Read([Found, End(0)]).ToResult("ended with 0", byItself: true).Counts);

    [Fact]
    public static void A_run_that_lost_results_is_a_failure()
    {
        SuiteResult result = Read(
        [
            .. Test("1", "A.Works", """{"$type":"test-passed","TestUniqueID":"1"}"""), End(2),
        ]).ToResult("ended with 0", byItself: true);

        Assert.Contains(
            "counts 2 tests and tells of 1", Assert.Single(result.Failures).Message,
            StringComparison.Ordinal);
    }

    [Fact]
    public static void An_error_outside_of_a_test_is_a_failure()
    {
        SuiteResult result = Read(
        [
            .. Test("1", "A.Works", """{"$type":"test-passed","TestUniqueID":"1"}"""),
            """{"$type":"test-class-cleanup-failure","ExceptionTypes":["E"],"""
                + """ "Messages":["not disposed"],"StackTraces":[null]}""",
            End(1),
        ]).ToResult("ended with 1", byItself: true);

        Assert.Equal(
            new TestCase("unit: outside of a test", "E: not disposed"), Assert.Single(result.Failures));
    }

    [Fact]
    public static void What_others_print_before_a_message_on_its_line_does_not_hide_it()
    {
        XunitMessages messages = Read(
        [
            Starting("1", "A.Works"),
            """50 % done{"$type":"test-passed","TestUniqueID":"1"}""",
            """{"$type":"test-finished","TestUniqueID":"1"}""",
            End(1),
        ]);

        Assert.Equal(new TestCounts(1, 0, 0), messages.ToResult("ended with 0", byItself: true).Counts);
    }

    private static XunitMessages Read(IEnumerable<string> lines)
    {
        XunitMessages messages = new("unit");
        foreach (string line in lines)
        {
            messages.Add(line);
        }

        return messages;
    }

    private static string[] Test(string id, string name, string outcome) =>
        [Starting(id, name), outcome, $$"""{"$type":"test-finished","TestUniqueID":"{{id}}"}"""];

    private static string Starting(string id, string name) =>
        $$"""{"$type":"test-starting","TestUniqueID":"{{id}}","TestDisplayName":"{{name}}"}""";

    private static string Failed(string id) =>
        $$"""{"$type":"test-failed","TestUniqueID":"{{id}}","ExceptionTypes":["E","F"],"""
        + """ "Messages":["Expected 1","inside"],"StackTraces":["at A.Breaks()",null]}""";

    private static string End(int total) =>
        $$"""{"$type":"test-assembly-finished","TestsTotal":{{total}},"TestsNotRun":0}""";
}

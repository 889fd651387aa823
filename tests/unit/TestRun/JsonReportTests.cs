using ProtoRpc.TestRun;

namespace ProtoRpc.Tests.TestRun;

public static class JsonReportTests
{
    [Fact]
    public static void Reads_counts_names_and_messages()
    {
        string json = """
            { "passed": 3, "failures": [ { "name": "A.b", "message": "Expected 1" } ],
              "skips": [ { "name": "A.c", "message": "" }, { "name": "A.d", "message": "later" } ] }
            """;

        SuiteResult result = JsonReport.Read("pester", json);

        Assert.Equal(new TestCounts(3, 1, 2), result.Counts);
        Assert.Equal(new TestCase("A.b", "Expected 1"), Assert.Single(result.Failures));
    }

    [Theory]
    [InlineData("")]
    [InlineData("null")]
    [InlineData("""{ "passed": 3 """)]
    [InlineData("""{ "passed": 3 }""")]
    public static void Refuses_a_report_that_is_not_whole(string json)
    {
        Assert.Throws<FormatException>(() => JsonReport.Read("pester", json));
    }

    [Theory]
    [InlineData("Describe 'x' {\n    It 'does' { }\n    It \"does too\" { }\n}", 2)]
    [InlineData("# It is a comment\nDescribe 'x' { }", 1)]
    [InlineData("", 1)]
    public static void Counts_the_tests_in_the_text_of_a_file_that_cannot_be_run(string script, int tests)
    {
        Assert.Equal(tests, PesterSuite.CountTests(script));
    }
}

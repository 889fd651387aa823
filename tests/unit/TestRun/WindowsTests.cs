using ProtoRpc.TestRun;
using ProtoRpc.TestRun.Windows;

namespace ProtoRpc.Tests.TestRun;

public static class WindowsTests
{
    [Theory]
    [InlineData("wine-8.0 (Debian 8.0~repack-4)", 8)]
    [InlineData("wine-10.0 (Debian 10.0~repack-6)", 10)]
    [InlineData("wine-11.0-rc1", 11)]
    [InlineData("wine", 0)]
    [InlineData("it looks like wine32 is missing, you should install it.", 0)]
    [InlineData("", 0)]
    [InlineData("wine-99999999999999", 0)]
    public static void The_version_is_read(string text, int major) =>
        Assert.Equal(major, WineInstallation.MajorOf(text));

    [Fact]
    public static void A_list_of_exceptions_has_a_reason_for_each()
    {
        LeftOutTests exceptions = LeftOutTests.Read(
            "# a comment\n\nA.B.OneTests Wine has no sockets of Unix\r\n"
            + "A.B.TwoTests.That_it_works   no key\n");

        Assert.Equal(["A.B.OneTests", "A.B.TwoTests.That_it_works"], exceptions.Names);
        Assert.Equal("Wine has no sockets of Unix", exceptions.ReasonOf("A.B.OneTests"));
        Assert.Equal("no key", exceptions.ReasonOf("A.B.TwoTests.That_it_works"));
    }

    [Theory]
    [InlineData("A.B.OneTests", "has no reason")]
    [InlineData("A.B.OneTests because\nA.B.OneTests because", "twice")]
    public static void A_bad_list_of_exceptions_is_an_error(string text, string told) =>
        Assert.Contains(
            told, Assert.Throws<FormatException>(() => LeftOutTests.Read(text)).Message,
            StringComparison.Ordinal);

    [Fact]
    public static void A_journal_to_its_end_has_the_outcome_of_each_test()
    {
        TestJournal journal = TestJournal.Read(
        [
            """{"kind":"plan","classes":["A","B"],"without":{"C":3,"D.E":1},"unknown":["X"]}""",
            """{"kind":"class","name":"A"}""",
            """{"kind":"test","name":"A.one"}""", """{"kind":"passed","name":"A.one"}""",
            """{"kind":"test","name":"A.two"}""",
            """{"kind":"failed","name":"A.two","id":"2","message":"no"}""",
            """{"kind":"classEnd","name":"A"}""", """{"kind":"class","name":"B"}""",
            """{"kind":"skipped","name":"B.one","message":"why"}""", """{"kind":"classEnd","name":"B"}""",
            """{"kind":"end"}""",
        ]);

        SuiteResult result = journal.ToResult("windows", []);
        Assert.True(journal.IsComplete);
        Assert.Empty(journal.Left);
        Assert.Equal(new TestCounts(1, 1, 1), result.Counts);
        Assert.Equal(new TestCase("A.two (under Wine)", "no"), Assert.Single(result.Failures));
        Assert.Equal("why", Assert.Single(result.Skips).Message);
        Assert.Equal((3, 1), (journal.Without["C"], journal.Without["D.E"]));
        Assert.Equal(["X"], journal.Unknown);
    }

    [Fact]
    public static void A_test_that_runs_again_is_not_counted_as_failed_yet()
    {
        TestJournal journal = TestJournal.Read(
        [
            """{"kind":"class","name":"A"}""",
            """{"kind":"failed","name":"A.one","id":"1","message":"no"}""",
            """{"kind":"failed","name":"outside of a test","message":"not disposed"}""",
        ]);

        SuiteResult result = journal.ToResult("windows", [journal.Failed[0]]);

        Assert.Equal(("A", "1"), (journal.Failed[0].Class, journal.Failed[0].Id));
        Assert.Equal(new TestCounts(0, 1, 0), result.Counts);
        Assert.Equal("not disposed", Assert.Single(result.Failures).Message);
    }

    [Fact]
    public static void A_journal_that_breaks_off_names_the_test_that_ran_and_the_classes_that_are_left()
    {
        TestJournal journal = TestJournal.Read(
        [
            """{"kind":"plan","classes":["A","B","C"],"without":{},"unknown":[]}""",
            """{"kind":"class","name":"A"}""", """{"kind":"classEnd","name":"A"}""",
            """{"kind":"class","name":"B"}""", """{"kind":"cases","ids":["1","2","3"]}""",
            """{"kind":"test","name":"B.one"}""", """{"kind":"passed","name":"B.one"}""",
            """{"kind":"caseEnd","id":"1"}""",
            """{"kind":"test","name":"B.two"}""", """{"kind":"pas""",
        ]);

        Assert.False(journal.IsComplete);
        Assert.Equal(("B", "B.two"), (journal.OpenClass, journal.OpenTest));
        Assert.Equal(["2", "3"], journal.OpenCases);
        Assert.Equal(["C"], journal.Left);
        Assert.Equal(1, journal.ToResult("windows", []).Counts.Passed);
    }

    [Theory]
    [InlineData("""{"kind":"never"}""", "'never'")]
    [InlineData("no JSON\n{}", "Line 1")]
    public static void A_journal_that_cannot_be_read_is_an_error(string text, string told) =>
        Assert.Contains(
            told, Assert.Throws<FormatException>(() => TestJournal.Read(text.Split('\n'))).Message,
            StringComparison.Ordinal);

    [Fact]
    public static void An_empty_journal_is_not_complete() => Assert.False(TestJournal.Read([]).IsComplete);

    [Fact]
    public static void The_repository_lists_only_tests_that_exist_here()
    {
        LeftOutTests exceptions = LeftOutTests.Read(
            File.ReadAllText(Path.Combine(Repository.Root, "tests", "windows", "not-under-wine.txt")));

        Assert.All(
            exceptions.Names.Where(name => name.StartsWith("ProtoRpc.Tests.", StringComparison.Ordinal)),
            name => Assert.True(
                typeof(WindowsTests).Assembly.GetType(name) is not null
                || typeof(WindowsTests).Assembly.GetType(name[..name.LastIndexOf('.')])
                    ?.GetMethod(name[(name.LastIndexOf('.') + 1)..]) is not null,
                $"there is no test {name}"));
    }
}

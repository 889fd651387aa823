using ProtoRpc.TestRun;

namespace ProtoRpc.Tests.TestRun;

public static class RunOptionsTests
{
    private static readonly string[] Known = ["unit", "pester"];

    [Fact]
    public static void Everything_runs_when_nothing_is_said()
    {
        RunOptions options = RunOptions.Parse([], Known);

        Assert.Empty(options.Suites);
        Assert.Null(options.Filter);
    }

    [Fact]
    public static void Takes_suites_and_a_filter()
    {
        RunOptions options =
            RunOptions.Parse(["--suite", "unit", "--filter", "Wire", "--suite", "pester"], Known);

        Assert.Equal(["unit", "pester"], options.Suites);
        Assert.Equal("Wire", options.Filter);
    }

    [Theory]
    [InlineData("--suite")]
    [InlineData("--suite", "bogus")]
    [InlineData("--filter", "")]
    [InlineData("--what", "now")]
    public static void Refuses_what_it_does_not_know(params string[] arguments)
    {
        Assert.Throws<ArgumentException>(() => RunOptions.Parse(arguments, Known));
    }

    [Fact]
    public static void Names_every_suite_in_the_usage()
    {
        ArgumentException error =
            Assert.Throws<ArgumentException>(() => RunOptions.Parse(["--what", "now"], Known));

        Assert.Contains("[--suite unit|pester]...", error.Message, StringComparison.Ordinal);
    }
}

using ProtoRpc.TestRun;

namespace ProtoRpc.Tests.TestRun;

public static class RunOptionsTests
{
    private static readonly string[] Known = ["unit", "pester"];

    [Fact]
    public static void The_default_suites_run_when_nothing_is_said()
    {
        RunOptions options = RunOptions.Parse([], Known);

        Assert.Empty(options.Suites);
        Assert.Null(options.Filter);
        Assert.False(options.All);
        Assert.False(options.IsQuick);
        Assert.False(options.IsLong);
    }

    [Fact]
    public static void Takes_suites_and_a_filter()
    {
        RunOptions options =
            RunOptions.Parse(["--suite", "unit", "--filter", "Wire", "--suite", "pester"], Known);

        Assert.Equal(["unit", "pester"], options.Suites);
        Assert.Equal("Wire", options.Filter);
    }

    [Fact]
    public static void Takes_everything_for_long()
    {
        RunOptions options = RunOptions.Parse(["--all", "--long"], Known);

        Assert.True(options.All);
        Assert.True(options.IsLong);
    }

    [Theory]
    [InlineData(0, "--quick")]
    [InlineData(2, "--quick", "New-RpcMock", "Invoke-RpcMethod")]
    public static void A_quick_run_takes_the_names_of_cmdlets(int cmdlets, params string[] arguments)
    {
        RunOptions options = RunOptions.Parse(arguments, Known);

        Assert.True(options.IsQuick);
        Assert.Equal(arguments[1..], options.Cmdlets);
        Assert.Equal(cmdlets, options.Cmdlets.Count);
    }

    [Theory]
    [InlineData("--suite")]
    [InlineData("--suite", "bogus")]
    [InlineData("--filter", "")]
    [InlineData("--what", "now")]
    [InlineData("New-RpcMock")]
    [InlineData("--all", "--quick")]
    [InlineData("--all", "--suite", "unit")]
    public static void Rejects_what_it_does_not_know(params string[] arguments)
    {
        Assert.Throws<ArgumentException>(() => RunOptions.Parse(arguments, Known));
    }

    [Fact]
    public static void Names_every_suite_in_the_usage()
    {
        ArgumentException error =
            Assert.Throws<ArgumentException>(() => RunOptions.Parse(["--what", "now"], Known));

        Assert.Contains("may be repeated: unit, pester", error.Message, StringComparison.Ordinal);
    }
}

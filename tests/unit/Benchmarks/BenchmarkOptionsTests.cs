using ProtoRpc.Benchmarks;

namespace ProtoRpc.Tests.Benchmarks;

public static class BenchmarkOptionsTests
{
    [Fact]
    public static void Named_pipes_are_measured_as_well()
    {
        Assert.Equal(["np", "tcp"], BenchmarkOptions.Parse(["--transports", "np,tcp"]).Transports);
    }

    [Fact]
    public static void Kinds_are_measured_in_the_order_that_is_given()
    {
        Assert.Equal(["dynamic", "bound"], BenchmarkOptions.Parse(["--kinds", "dynamic,bound"]).Kinds);
    }

    [Theory]
    [InlineData("--transports", "carrier-pigeon", "'carrier-pigeon'")]
    [InlineData("--kinds", "raw,fastest", "'fastest'")]
    [InlineData("--clients", "many", "'many'")]
    [InlineData("--seconds", "-1", "'-1'")]
    [InlineData("--colour", "red", "--colour")]
    public static void A_wrong_option_is_named(string option, string value, string wrong)
    {
        ArgumentException error =
            Assert.Throws<ArgumentException>(() => BenchmarkOptions.Parse([option, value]));

        Assert.Contains(wrong, error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void An_option_without_its_value_is_named()
    {
        ArgumentException error =
            Assert.Throws<ArgumentException>(() => BenchmarkOptions.Parse(["--rounds"]));

        Assert.Contains("--rounds", error.Message, StringComparison.Ordinal);
    }
}

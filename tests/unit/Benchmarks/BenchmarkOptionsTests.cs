using ProtoRpc.Benchmarks;
using ProtoRpc.Benchmarks.Http;

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
    [InlineData("--stacks", "json,protobof", "'protobof'")]
    [InlineData("--stacks", "", "''")]
    [InlineData("--clients", "many", "'many'")]
    [InlineData("--clients", "0", "'0'")]
    [InlineData("--callers", "0", "'0'")]
    [InlineData("--rounds", "0", "'0'")]
    [InlineData("--only", "rpc,shells", "'shells'")]
    [InlineData("--peers", "grpc-js,grpc-perl", "'grpc-perl'")]
    [InlineData("--peers", "=/", "'=/'")]
    [InlineData("--peers", "mine=/no/such/program", "'/no/such/program'")]
    [InlineData("--pode", "/no/such/module", "'/no/such/module'")]
    [InlineData("--seconds", "-1", "'-1'")]
    [InlineData("--colour", "red", "--colour")]
    public static void A_wrong_option_is_named(string option, string value, string wrong)
    {
        ArgumentException error =
            Assert.Throws<ArgumentException>(() => BenchmarkOptions.Parse([option, value]));

        Assert.Contains(wrong, error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("protobuf", 6)]
    [InlineData("binary", 4)]
    [InlineData("JSON", 6)]
    [InlineData("json", 6)]
    [InlineData("gRPC", 4)]
    [InlineData("unix", 2)]
    [InlineData("http", 8)]
    [InlineData("dynamic", 8)]
    [InlineData("blocking", 4)]
    [InlineData("async", 12)]
    public static void Stacks_are_named_by_the_words_of_their_titles_and_kinds(string word, int count)
    {
        Assert.Equal([word], BenchmarkOptions.Parse(["--stacks", word]).Stacks);
        Assert.Equal(count, HttpStack.All.Count(stack => stack.IsNamedBy(word)));
    }

    [Fact]
    public static void No_stack_is_measured_where_none_is_wanted() =>
        Assert.Empty(BenchmarkOptions.Parse(["--stacks", "none"]).Stacks);

    [Fact]
    public static void Peers_are_those_that_are_built_and_programs_by_their_paths()
    {
        string path = typeof(BenchmarkOptionsTests).Assembly.Location;

        Assert.Equal(BenchmarkOptions.KnownPeers, BenchmarkOptions.Parse([]).Peers);
        Assert.Equal(
            ["grpc-js", $"mine={path}"],
            BenchmarkOptions.Parse(["--peers", $"grpc-js,mine={path}"]).Peers);
        Assert.Empty(BenchmarkOptions.Parse(["--peers", "none"]).Peers);
    }

    [Fact]
    public static void A_report_measures_everything_unless_said()
    {
        BenchmarkOptions options = BenchmarkOptions.Parse(["--rounds", "1"], BenchmarkOptions.OfReport);

        Assert.Equal(BenchmarkOptions.KnownExperiments, options.Only);
        Assert.Equal(BenchmarkOptions.KnownTransports, options.Transports);
        Assert.Equal(1, options.Rounds);
        Assert.Equal(TimeSpan.FromSeconds(5), options.Round);
    }

    [Fact]
    public static void Records_are_the_usual_ones_unless_given()
    {
        Assert.Equal([0, 10], BenchmarkOptions.Parse([]).RecordsOr(0, 10));
        Assert.Equal([7], BenchmarkOptions.Parse(["--records", "7"]).RecordsOr(0, 10));
    }

    [Fact]
    public static void An_option_without_its_value_is_named()
    {
        ArgumentException error =
            Assert.Throws<ArgumentException>(() => BenchmarkOptions.Parse(["--rounds"]));

        Assert.Contains("--rounds", error.Message, StringComparison.Ordinal);
    }
}

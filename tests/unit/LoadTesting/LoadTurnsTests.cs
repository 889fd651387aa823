namespace ProtoRpc.Tests.LoadTesting;

public static class LoadTurnsTests
{
    [Theory]
    [InlineData(1, 60, 1)]
    [InlineData(2, 60, 60)]
    [InlineData(2, 0.1, 4)]
    [InlineData(3, 86_400, 86_400)]
    public static void Several_targets_take_turns_of_a_second(int targets, double seconds, int rounds)
    {
        RpcLoadOptions options = new() { Duration = TimeSpan.FromSeconds(seconds) };

        Assert.Equal(rounds, LoadTurns.RoundsOf(options, targets));
    }

    [Theory]
    [InlineData(1, 1)]
    [InlineData(3, 3)]
    [InlineData(1000, 4)]
    public static void A_few_calls_are_not_cut_into_more_turns(long count, int rounds)
    {
        Assert.Equal(rounds, LoadTurns.RoundsOf(new RpcLoadOptions { Count = count }, targets: 2));
    }

    [Fact]
    public static void Every_second_round_goes_backwards()
    {
        string[] targets = ["a", "b", "c"];

        Assert.Equal(["a", "b", "c"], LoadTurns.InRound(targets, 0));
        Assert.Equal(["c", "b", "a"], LoadTurns.InRound(targets, 1));
    }

    [Theory]
    [InlineData(0, 4)]
    [InlineData(3, 4)]
    [InlineData(10, 4)]
    [InlineData(1001, 10)]
    [InlineData(RpcLoadOptions.MaxCount, 86_400)]
    public static void The_parts_of_a_count_are_equal_to_one_call_and_make_up_the_whole(long count, int parts)
    {
        long?[] shares = [.. Enumerable.Range(0, parts).Select(i => LoadTurns.ShareOf(count, i, parts))];

        Assert.Equal(count, shares.Sum());
        Assert.InRange(shares.Max()!.Value - shares.Min()!.Value, 0, 1);
    }

    [Fact]
    public static void Without_a_count_no_part_has_one() => Assert.Null(LoadTurns.ShareOf(null, 0, 4));
}

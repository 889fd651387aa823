namespace ProtoRpc.Tests.Shared;

public static class NearestNameTests
{
    [Theory]
    [InlineData("abc", "abc", 0)]
    [InlineData("abc", "ABC", 0)]
    [InlineData("abc", "abd", 1)]
    [InlineData("abc", "abcd", 1)]
    [InlineData("abc", "acb", 1)]
    [InlineData("abc", "ca", 3)]
    [InlineData("", "abc", 3)]
    [InlineData("kitten", "sitting", 3)]
    public static void The_distance_counts_changes(string from, string to, int expected) =>
        Assert.Equal(expected, NearestName.Distance(from, to, 10));

    [Fact]
    public static void A_distance_over_the_limit_is_the_limit_and_one() =>
        Assert.Equal(3, NearestName.Distance("completely", "different", 2));

    [Fact]
    public static void The_nearest_come_first_and_far_ones_not_at_all()
    {
        IReadOnlyList<string> found =
            NearestName.Find("querry", ["page", "queries", "query", "Quarry", "result"]);

        Assert.Equal(["Quarry", "query"], found.Take(2));
        Assert.DoesNotContain("page", found);
    }

    [Fact]
    public static void A_name_without_dots_is_compared_to_last_parts() =>
        Assert.Equal(["pkg.sub.Request"], NearestName.Find("Requst", ["pkg.sub.Request", "pkg.sub.Reply"]));

    [Fact]
    public static void A_hint_is_a_sentence_or_nothing()
    {
        Assert.Equal(" Did you mean 'one' or 'ones'?", NearestName.Hint("onee", ["ones", "one", "three"]));
        Assert.Equal("", NearestName.Hint("x", []));
        Assert.Equal("", NearestName.Hint(new string('x', 100_000), ["x"]));
    }
}

namespace ProtoRpc.Tests.Server;

/// <summary>Sessions of many callers, of whom none can take them all.</summary>
public static class SessionShareTests
{
    [Fact]
    public static void A_caller_who_asks_for_more_loses_its_longest_idle_one()
    {
        using SessionTable table = new(new() { MaxSessionsPerCaller = 3 });
        Guid[] ids = [.. Enumerable.Range(0, 3).Select(_ => Open(table, "mallory"))];
        table.Release(table.Use(ids[0], "mallory"));

        Guid fourth = Open(table, "mallory");

        Assert.Equal(3, table.Sessions.Count);
        Assert.DoesNotContain(ids[1], Ids(table));
        Assert.Contains(fourth, Ids(table));
    }

    [Fact]
    public static void A_thousand_sessions_of_one_caller_leave_those_of_others_alone()
    {
        using SessionTable table = new(RpcLimits.Default);
        Guid ann = Open(table, "ann");

        for (int i = 0; i < 5_000; i++)
        {
            Open(table, "mallory");
        }

        Guid bob = Open(table, "bob");
        Assert.Equal(RpcLimits.Default.MaxSessionsPerCaller + 2, table.Sessions.Count);
        Assert.Contains(ann, Ids(table));
        Assert.Contains(bob, Ids(table));
    }

    [Fact]
    public static void Where_all_are_taken_the_longest_idle_one_of_those_with_most_gives_way()
    {
        using SessionTable table = new(new() { MaxSessions = 4 });
        Guid ann = Open(table, "ann");
        Guid[] mallory = [.. Enumerable.Range(0, 3).Select(_ => Open(table, "mallory"))];

        Guid bob = Open(table, "bob");

        Assert.Equal([ann, bob, .. mallory[1..]], Ids(table).OrderBy(
            id => Array.IndexOf([ann, bob, .. mallory], id)));
    }

    [Fact]
    public static void A_session_that_a_call_uses_stays()
    {
        using SessionTable table = new(new() { MaxSessionsPerCaller = 2, MaxSessions = 2 });
        RpcSession used = table.Use(null, "ann");
        Guid idle = Open(table, "ann");

        Open(table, "ann");

        Assert.Contains(used.Id, Ids(table));
        Assert.DoesNotContain(idle, Ids(table));
    }

    [Theory]
    [InlineData(1, 10, "MaxSessionsPerCaller")]
    [InlineData(10, 1, "MaxSessions)")]
    public static void Where_calls_use_them_all_a_new_one_is_refused_as_exhausted(
        int share, int all, string limit)
    {
        using SessionTable table = new(new() { MaxSessionsPerCaller = share, MaxSessions = all });
        table.Use(null, "ann");

        RpcException error = Assert.Throws<RpcException>(() => table.Use(null, "ann"));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.Contains(limit, error.Message);
    }

    [Fact]
    public static void Who_shares_a_network_shares_the_limit_and_not_the_sessions()
    {
        using SessionTable table = new(new() { MaxSessionsPerCaller = 2 });
        Guid first = Open(table, "anonymous:[2001:db8::1]", "anonymous:20010DB800000000");
        Open(table, "anonymous:[2001:db8::2]", "anonymous:20010DB800000000");

        Assert.Throws<RpcException>(() => table.Use(first, "anonymous:[2001:db8::2]"));
        Open(table, "anonymous:[2001:db8::3]", "anonymous:20010DB800000000");

        Assert.Equal(2, table.Sessions.Count);
        Assert.DoesNotContain(first, Ids(table));
    }

    [Fact]
    public static void What_a_replaced_session_holds_is_disposed()
    {
        using SessionTable table = new(new() { MaxSessionsPerCaller = 1 });
        RpcSession first = table.Use(null, "ann");
        using CancellationTokenSource held = new();
        first["held"] = held;
        table.Release(first);

        Open(table, "ann");

        Assert.Throws<ObjectDisposedException>(() => held.Token);
        Assert.Equal(0, first.Count);
    }

    [Fact]
    public static void Ended_sessions_give_their_share_back()
    {
        using SessionTable table = new(new() { MaxSessionsPerCaller = 1 });
        for (int i = 0; i < 3; i++)
        {
            RpcSession session = table.Use(null, "ann");
            Assert.True(table.Close(session.Id, "ann"));
        }

        Assert.Empty(table.Sessions);
    }

    private static Guid Open(SessionTable table, string owner, string? holder = null)
    {
        RpcSession session = table.Use(null, owner, holder);
        table.Release(session);
        return session.Id;
    }

    private static IEnumerable<Guid> Ids(SessionTable table) => table.Sessions.Select(session => session.Id);
}

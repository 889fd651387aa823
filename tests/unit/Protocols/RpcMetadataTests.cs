namespace ProtoRpc.Tests.Protocols;

public static class RpcMetadataTests
{
    [Fact]
    public static void Set_replaces_all_values_of_a_name_and_no_other()
    {
        RpcMetadata headers = new() { { "x-a", "1" }, { "x-b", "2" }, { "X-A", "3" } };

        headers.Set("x-A", "4");
        headers.Set("x-c-bin", [1]);
        headers.Set("x-c-bin", [2]);

        Assert.Equal(["4"], headers.GetAll("x-a"));
        Assert.Equal(["2"], headers.GetAll("x-b"));
        Assert.Equal([2], headers.GetBytes("x-c-bin"));
        Assert.Equal(3, headers.Count);
    }

    [Fact]
    public static void A_value_that_cannot_be_set_leaves_what_was_there()
    {
        RpcMetadata headers = new() { { "x-a", "1" } };

        Assert.Throws<RpcException>(() => headers.Set("x-a", "\r\n"));

        Assert.Equal("1", headers.GetText("x-a"));
    }

    [Fact]
    public static void A_loop_sees_what_there_was_when_it_began()
    {
        RpcMetadata headers = new() { { "x-a", "1" }, { "x-b", "2" } };
        List<string> seen = [];

        foreach ((string name, _) in headers)
        {
            seen.Add(name);
            headers.Set(name, "3");
            headers.Add("x-c", "4");
        }

        Assert.Equal(["x-a", "x-b"], seen);
        Assert.Equal(4, headers.Count);
    }

    [Fact]
    public static void Threads_may_add_and_read()
    {
        const int Values = 20_000;
        RpcMetadata headers = new();

        Parallel.Invoke(
            () => AddAll("x-a"),
            () => AddAll("x-b"),
            () =>
            {
                while (headers.GetAll("x-a").Count < Values || headers.GetAll("x-b").Count < Values)
                {
                    Assert.All(headers, entry => Assert.NotNull(entry.Value));
                }
            });

        Assert.Equal(2 * Values, headers.Count);

        void AddAll(string name)
        {
            for (int i = 0; i < Values; i++)
            {
                headers.Add(name, "1");
            }
        }
    }

    [Fact]
    public static void Remove_says_whether_anything_was_there()
    {
        RpcMetadata headers = new() { { "x-a", "1" }, { "x-a", "2" }, { "x-b", "3" } };

        Assert.True(headers.Remove("X-A"));
        Assert.False(headers.Remove("x-a"));

        Assert.Equal(["x-b"], headers.Names);
    }
}

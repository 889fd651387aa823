namespace ProtoRpc.Tests.Protocols.Native;

public static class SideChannelTests
{
    [Fact]
    public static void A_context_goes_with_the_call_and_comes_back_changed()
    {
        using RpcServer server = ContextServer.Start(context =>
        {
            DynamicMessage side = context.CallContext;
            Assert.Equal("acme", side.Get(ContextServer.Field("tenant")));
            side.Set(ContextServer.Field("visits"), (int)side.Get(ContextServer.Field("visits"))! + 1);
        });
        using RpcClient client = ContextServer.Connect(server);
        DynamicMessage mine = client.CallContext;
        mine.Set(ContextServer.Field("tenant"), "acme");
        client.CallContext = mine;

        client.Do();
        client.Do();

        Assert.Equal(2, client.CallContext.Get(ContextServer.Field("visits")));
        Assert.Equal("acme", client.CallContext.Get(ContextServer.Field("tenant")));
    }

    [Fact]
    public static void A_context_that_the_handler_left_alone_is_kept()
    {
        using RpcServer server = ContextServer.Start(_ => { });
        using RpcClient client = ContextServer.Connect(server);
        DynamicMessage mine = client.CallContext;
        mine.Set(ContextServer.Field("tenant"), "acme");
        client.CallContext = mine;

        client.Do();

        Assert.Equal(mine, client.CallContext);
    }

    [Fact]
    public static void A_context_comes_back_from_a_call_that_failed_too()
    {
        using RpcServer server = ContextServer.Start(context =>
        {
            context.CallContext.Set(ContextServer.Field("visits"), 7);
            throw new InvalidOperationException("after");
        });
        using RpcClient client = ContextServer.Connect(server);

        Assert.Throws<RpcException>(client.Do);

        Assert.Equal(7, client.CallContext.Get(ContextServer.Field("visits")));
    }

    [Fact]
    public static void A_context_of_one_call_is_not_seen_by_another()
    {
        RpcFieldInfo visits = ContextServer.Field("visits");
        using RpcServer server = ContextServer.Start(context =>
            context.CallContext.Set(visits, 1 + (int)context.CallContext.Get(visits)!));
        using RpcClient one = ContextServer.Connect(server);
        using RpcClient other = ContextServer.Connect(server);

        one.Do();
        other.Do();

        Assert.Equal(1, other.CallContext.Get(ContextServer.Field("visits")));
    }
}

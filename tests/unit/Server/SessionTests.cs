namespace ProtoRpc.Tests.Server;

public static class SessionTests
{
    private static readonly RpcFieldInfo SessionId =
        ContextServer.Schema.GetMessage("google.protobuf.rpc_messages.RpcCallContext")
            .FindField("session_id")!;

    [Fact]
    public static void A_caller_finds_its_values_again()
    {
        List<object?> seen = [];
        using RpcServer server = ContextServer.Start(context =>
        {
            seen.Add(context.Session["count"]);
            context.Session["count"] = seen.Count;
        });
        using RpcClient client = ContextServer.Connect(server);

        client.Do();
        client.Do();

        Assert.Equal([null, 1], seen);
        Assert.Single(server.Sessions);
        Assert.Equal($"Kernel:{LocalUser.Name}", server.Sessions[0].Owner);
    }

    [Fact]
    public static void Threads_of_a_handler_get_one_session()
    {
        const int Calls = 100;
        using RpcServer server = ContextServer.Start(context =>
        {
            using Barrier start = new(2);
            Task<Guid>[] asking = [.. Enumerable.Range(0, 2).Select(_ => Task.Run(() =>
            {
                start.SignalAndWait();
                return context.Session.Id;
            }))];
            Assert.Single(Task.WhenAll(asking).Result.Distinct());
        });

        for (int i = 0; i < Calls; i++)
        {
            using RpcClient client = ContextServer.Connect(server);
            client.Do();
            Assert.Single(server.Sessions);
        }
    }

    [Fact]
    public static void A_call_that_has_ended_gets_none()
    {
        RpcServerCallContext? last = null;
        using RpcServer server = ContextServer.Start(context => last = context);
        using RpcClient client = ContextServer.Connect(server);
        client.Do();
        client.Do();
        RpcServerCallContext ended = last!;
        client.Do();

        Assert.Throws<ObjectDisposedException>(() => ended.Session);

        Assert.Empty(server.Sessions);
    }

    [Fact]
    public static void A_session_holds_no_more_bytes_than_it_may()
    {
        RpcSession session = new(Guid.NewGuid(), "ann", new RpcLimits { MaxSessionBytes = 10_000 });
        object[] tooLarge =
        [
            new string('x', 5_000), new byte[10_000], new double[1_250], new List<object> { new byte[9_990] },
            new Dictionary<string, object> { ["a"] = new object[] { new string('x', 5_000) } },
            Enumerable.Range(0, 1_000).Select(i => (object)i).ToArray(),
        ];

        Assert.All(tooLarge, value =>
        {
            RpcException error = Assert.Throws<RpcException>(() => session["key"] = value);
            Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
            Assert.Contains("MaxSessionBytes", error.Message, StringComparison.Ordinal);
        });
        Assert.Equal(0, session.Count);
        session["key"] = new byte[9_000];
        session["key"] = new byte[9_500];
        Assert.Throws<RpcException>(() => session["other"] = new byte[500]);
        session["key"] = null;
        session["other"] = new byte[9_500];
        Assert.Equal(["other"], session.Keys);
    }

    [Fact]
    public static void A_value_that_holds_itself_is_counted_to_an_end()
    {
        RpcSession session = new(Guid.NewGuid(), "ann", RpcLimits.Default);
        List<object> loop = [];
        loop.Add(loop);
        System.Collections.Hashtable table = [];
        table["self"] = table;

        session["loop"] = loop;
        session["table"] = table;

        Assert.Equal(2, session.Count);
    }

    [Fact]
    public static void A_call_that_asks_for_no_session_gets_none()
    {
        using RpcServer server = ContextServer.Start(_ => { });
        using RpcClient client = ContextServer.Connect(server);

        client.Do();

        Assert.Empty(server.Sessions);
        Assert.False(client.CallContext.Has(SessionId));
    }

    [Fact]
    public static void An_id_that_the_client_made_up_is_not_taken_up()
    {
        Guid seen = Guid.Empty;
        using RpcServer server = ContextServer.Start(context => seen = context.Session.Id);
        using RpcClient client = ContextServer.Connect(server);
        Guid mine = Guid.NewGuid();
        DynamicMessage context = client.CallContext;
        context.Set(SessionId, mine.ToByteArray());
        client.CallContext = context;

        client.Do();

        Assert.NotEqual(mine, seen);
        Assert.Equal(seen.ToByteArray(), client.CallContext.Get(SessionId));
    }

    [Fact]
    public static void A_handler_cannot_change_the_session_id_either()
    {
        using RpcServer server = ContextServer.Start(
            context => context.CallContext.Set(SessionId, Guid.NewGuid().ToByteArray()));
        using RpcClient client = ContextServer.Connect(server);

        client.Do();

        Assert.False(client.CallContext.Has(SessionId));
    }

    [Fact]
    public static void A_session_of_another_caller_is_refused()
    {
        using SessionTable table = new(RpcLimits.Default);
        RpcSession session = table.Use(null, "Kernel:ann");

        RpcException used = Assert.Throws<RpcException>(() => table.Use(session.Id, "Kernel:bob"));
        RpcException closed = Assert.Throws<RpcException>(() => table.Close(session.Id, "Kernel:bob"));

        Assert.Equal(RpcStatusCode.PermissionDenied, used.Code);
        Assert.Equal("ForeignSession", closed.ErrorId);
        Assert.Same(session, table.Use(session.Id, "Kernel:ann"));
    }

    [Fact]
    public static void A_session_ends_with_its_client()
    {
        Disposable value = new();
        using RpcServer server = ContextServer.Start(context => context.Session["x"] = value);
        RpcClient client = ContextServer.Connect(server);
        client.Do();

        client.Dispose();

        Assert.Empty(server.Sessions);
        Assert.Equal(1, value.Disposals);
    }

    [Fact]
    public static void A_session_ends_with_its_server()
    {
        Disposable value = new();
        RpcServer server = ContextServer.Start(context => context.Session["x"] = value);
        using RpcClient client = ContextServer.Connect(server);
        client.Do();

        server.Dispose();

        Assert.Equal(1, value.Disposals);
    }

    [Fact]
    public static void A_removed_session_is_gone_and_the_next_call_gets_a_new_one()
    {
        using RpcServer server = ContextServer.Start(context => context.Session["x"] ??= context.Session.Id);
        using RpcClient client = ContextServer.Connect(server);
        client.Do();
        Guid first = server.Sessions[0].Id;

        bool removed = server.RemoveSession(first);
        client.Do();

        Assert.True(removed);
        Assert.False(server.RemoveSession(first));
        Assert.NotEqual(first, Assert.Single(server.Sessions).Id);
    }

    [Fact]
    public static void An_idle_session_ends_and_one_in_use_does_not()
    {
        RpcLimits limits = new() { SessionIdleTimeout = TimeSpan.FromMilliseconds(20) };
        using SessionTable table = new(limits);
        RpcSession used = table.Use(null, "a");
        RpcSession idle = table.Use(null, "a");
        table.Release(idle);

        bool ended = SpinWait.SpinUntil(
            () =>
            {
                table.Sweep();
                return table.Sessions.Count == 1;
            },
            TimeSpan.FromSeconds(20));

        Assert.True(ended);
        Assert.Same(used, Assert.Single(table.Sessions));
    }

    [Fact]
    public static void Sessions_and_their_values_are_bounded()
    {
        RpcLimits limits = new() { MaxSessions = 2, MaxSessionItems = 2 };
        using SessionTable table = new(limits);
        RpcSession session = table.Use(null, "a");
        table.Use(null, "b");
        session["1"] = 1;
        session["2"] = 2;
        session["2"] = 3;

        Assert.Equal(
            RpcStatusCode.ResourceExhausted, Assert.Throws<RpcException>(() => table.Use(null, "c")).Code);
        Assert.Equal(
            RpcStatusCode.ResourceExhausted, Assert.Throws<RpcException>(() => session["3"] = 3).Code);
        Assert.Equal(3, session["2"]);
    }

    [Fact]
    public static void A_value_that_is_replaced_or_removed_is_disposed()
    {
        using SessionTable table = new(RpcLimits.Default);
        RpcSession session = table.Use(null, "a");
        Disposable replaced = new();
        Disposable removed = new();
        session["x"] = replaced;
        session["x"] = removed;
        session["x"] = removed;
        session["x"] = null;

        Assert.Equal(1, replaced.Disposals);
        Assert.Equal(1, removed.Disposals);
        Assert.Empty(session.Keys);
    }

    [Fact]
    public static void A_value_that_is_set_after_the_end_of_the_session_is_disposed_at_once()
    {
        using SessionTable table = new(RpcLimits.Default);
        RpcSession session = table.Use(null, "a");
        Disposable value = new();
        table.Remove(session.Id);

        session["x"] = value;
        session["y"] = 1;

        Assert.Equal(1, value.Disposals);
        Assert.Empty(session.Keys);
    }

    [Fact]
    public static void A_server_without_sessions_says_so()
    {
        using RpcServer server = ContextServer.Start(
            context => _ = context.Session, new RpcServerOptions { EnableSessions = false });
        using RpcClient client = ContextServer.Connect(server);

        Assert.Equal(RpcStatusCode.FailedPrecondition, Assert.Throws<RpcException>(client.Do).Code);
    }

    private sealed class Disposable : IDisposable
    {
        public int Disposals { get; private set; }

        public void Dispose() => Disposals++;
    }
}

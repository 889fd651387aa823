
namespace ProtoRpc.Tests.Server;

public static class ServerChangeTests
{
    private static readonly EchoRequest Request = new() { Text = "x" };
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    [Fact]
    public static async Task Calls_that_run_end_with_the_old_handler_and_later_ones_get_the_new()
    {
        HeldReply held = new();
        using RpcServer server = Start(held.SayAsync);
        using RpcClient client = EchoServer.Connect(server);
        Task<EchoReply> running = client.InvokeAsync<EchoReply>("Say", Request);
        await held.Began.Task.WaitAsync(Patience);

        await server.ChangeAsync(new() { Handlers = Replies("new") });

        Assert.Equal("new", client.Invoke<EchoReply>("Say", Request).Text);
        held.GoesOn.SetResult();
        Assert.Equal("old", (await running).Text);
    }

    [Fact]
    public static async Task Methods_that_are_not_named_have_no_handler_afterwards()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(server);

        await server.ChangeAsync(new() { Handlers = Replies("new") });

        Assert.Equal(
            RpcStatusCode.Unimplemented,
            Assert.Throws<RpcException>(() => client.Invoke<EchoReply>("Fail", Request)).Code);
    }

    [Fact]
    public static async Task Interceptors_are_replaced_around_handlers_and_pings()
    {
        CountingInterceptor first = new();
        CountingInterceptor second = new();
        using RpcServer server = EchoServer.Start(
            RpcTransport.Local, new RpcServerOptions { Interceptors = [first] });
        using RpcClient client = EchoServer.Connect(server);
        client.Invoke<EchoReply>("Say", Request);
        client.Ping();

        await server.ChangeAsync(new() { Interceptors = [second] });
        client.Invoke<EchoReply>("Say", Request);
        client.Ping();
        await server.ChangeAsync(new() { Interceptors = [] });
        client.Invoke<EchoReply>("Say", Request);
        client.Ping();

        Assert.Equal(2, first.Calls);
        Assert.Equal(2, second.Calls);
    }

    [Fact]
    public static async Task New_handlers_keep_the_interceptors()
    {
        CountingInterceptor interceptor = new();
        using RpcServer server = EchoServer.Start(
            RpcTransport.Local, new RpcServerOptions { Interceptors = [interceptor] });
        using RpcClient client = EchoServer.Connect(server);

        await server.ChangeAsync(new() { Handlers = Replies("new") });

        Assert.Equal("new", client.Invoke<EchoReply>("Say", Request).Text);
        Assert.Equal(1, interceptor.Calls);
    }

    [Fact]
    public static async Task Endpoints_that_stay_keep_their_connections()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Tcp);
        RpcEndpoint stays = server.Endpoints[0];
        RpcEndpoint comes = EchoServer.NewEndpoint(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(server);
        client.Invoke<EchoReply>("Say", Request);

        await server.ChangeAsync(new() { Endpoints = [comes, stays] });

        Assert.Equal([comes, stays], server.Endpoints);
        client.Invoke<EchoReply>("Say", Request);
        using RpcClient other = EchoServer.Connect(server);
        Assert.Equal("x", other.Invoke<EchoReply>("Say", Request).Text);
        Assert.Equal(2, server.Counters.Accepted);
    }

    [Fact]
    public static async Task An_endpoint_stays_by_what_was_asked_for()
    {
        RpcEndpoint any = EchoServer.NewEndpoint(RpcTransport.Tcp);
        using RpcServer server = EchoServer.Create().AddEndpoint(any).StartListening();
        RpcEndpoint bound = server.Endpoints[0];

        await server.ChangeAsync(new() { Endpoints = [any] });

        Assert.Equal([bound], server.Endpoints);
    }

    [Fact]
    public static async Task Calls_at_an_endpoint_that_goes_may_end()
    {
        HeldReply held = new();
        using RpcServer server = Start(held.SayAsync);
        RpcEndpoint goes = server.Endpoints[0];
        using RpcClient client = EchoServer.Connect(server);
        Task<EchoReply> running = client.InvokeAsync<EchoReply>("Say", Request);
        await held.Began.Task.WaitAsync(Patience);

        Task changing = server.ChangeAsync(new()
        {
            Endpoints = [EchoServer.NewEndpoint(RpcTransport.Local)],
            DrainTimeout = Patience,
        });
        Assert.False(changing.IsCompleted);
        held.GoesOn.SetResult();

        Assert.Equal("old", (await running).Text);
        await changing.WaitAsync(Patience);
        Assert.Throws<RpcException>(
            () => RpcClient.Connect(goes, EchoServer.Schema, new() { Service = "calls.Echo" }));
    }

    [Fact]
    public static async Task A_stop_waits_for_calls_at_an_endpoint_that_goes()
    {
        HeldReply held = new();
        using RpcServer server = Start(held.SayAsync);
        using RpcClient client = EchoServer.Connect(server);
        Task<EchoReply> running = client.InvokeAsync<EchoReply>("Say", Request);
        await held.Began.Task.WaitAsync(Patience);
        long accepted = server.Counters.Accepted;
        Task changing = server.ChangeAsync(new()
        {
            Endpoints = [EchoServer.NewEndpoint(RpcTransport.Local)],
            DrainTimeout = Patience,
        });

        Task stopping = server.StopAsync(Patience);
        Assert.NotSame(stopping, await Task.WhenAny(stopping, Task.Delay(200)));
        held.GoesOn.SetResult();

        Assert.Equal("old", (await running).Text);
        await Task.WhenAll(changing, stopping).WaitAsync(Patience);
        Assert.Equal(accepted, server.Counters.Accepted);
    }

    [Fact]
    public static async Task A_stop_does_not_wait_longer_for_an_endpoint_that_goes_than_for_others()
    {
        TaskCompletionSource began = new(TaskCreationOptions.RunContinuationsAsynchronously);
        using RpcServer server = Start(async (context, _) =>
        {
            began.SetResult();
            await Task.Delay(Timeout.Infinite, context.CancellationToken);
            return new EchoReply();
        });
        using RpcClient client = EchoServer.Connect(server);
        Task<EchoReply> running = client.InvokeAsync<EchoReply>("Say", Request);
        await began.Task.WaitAsync(Patience);
        Task changing = server.ChangeAsync(new()
        {
            Endpoints = [EchoServer.NewEndpoint(RpcTransport.Local)],
            DrainTimeout = TimeSpan.FromSeconds(1),
        });

        await server.StopAsync(TimeSpan.Zero).WaitAsync(Patience);

        await changing.WaitAsync(Patience);
        await Assert.ThrowsAsync<RpcException>(() => running);
    }

    [Fact]
    public static async Task Nothing_changes_when_an_endpoint_cannot_be_bound()
    {
        CountingInterceptor interceptor = new();
        using RpcServer other = EchoServer.Start(RpcTransport.Tcp);
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        RpcEndpoint before = server.Endpoints[0];
        RpcEndpoint comes = EchoServer.NewEndpoint(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(server);

        await Assert.ThrowsAsync<RpcException>(() => server.ChangeAsync(new()
        {
            Handlers = Replies("new"),
            Interceptors = [interceptor],
            Endpoints = [comes, other.Endpoints[0]],
        }));

        Assert.Equal([before], server.Endpoints);
        Assert.Equal("x", client.Invoke<EchoReply>("Say", Request).Text);
        Assert.Equal(0, interceptor.Calls);
        Assert.Throws<RpcException>(
            () => RpcClient.Connect(comes, EchoServer.Schema, new() { Service = "calls.Echo" }));
    }

    [Fact]
    public static async Task Nothing_changes_when_a_handler_cannot_be_used()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(server);

        foreach (Dictionary<string, RpcMethodHandler> handlers in new Dictionary<string, RpcMethodHandler>[]
        {
            new() { ["Say"] = RpcMethodHandler.OfReplies(new { txt = "" }) },
            new() { ["Shout"] = RpcMethodHandler.OfReplies(new { text = "" }) },
            new()
            {
                ["Say"] = RpcMethodHandler.OfReplies(new { text = "" }),
                ["calls.Echo/Say"] = RpcMethodHandler.OfReplies(new { text = "" }),
            },
        })
        {
            await Assert.ThrowsAsync<RpcException>(() => server.ChangeAsync(new() { Handlers = handlers }));
            Assert.Equal("x", client.Invoke<EchoReply>("Say", Request).Text);
        }
    }

    [Fact]
    public static async Task A_server_that_does_not_listen_is_not_changed()
    {
        using RpcServer server = EchoServer.Create();

        RpcException early = await Assert.ThrowsAsync<RpcException>(
            () => server.ChangeAsync(new() { Handlers = Replies("new") }));
        server.AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local)).StartListening();
        await server.StopAsync();
        RpcException late = await Assert.ThrowsAsync<RpcException>(
            () => server.ChangeAsync(new() { Handlers = Replies("new") }));

        Assert.Equal(RpcStatusCode.FailedPrecondition, early.Code);
        Assert.Equal(RpcStatusCode.FailedPrecondition, late.Code);
        using RpcServer running = EchoServer.Start(RpcTransport.Local);
        await Assert.ThrowsAsync<RpcException>(() => running.ChangeAsync(new() { Endpoints = [] }));
    }

    [Fact]
    public static async Task No_call_fails_while_handlers_and_endpoints_change_all_the_time()
    {
        using RpcServer server = RpcServer.Create(EchoServer.Schema, "calls.Echo")
            .Handle("Say", RpcMethodHandler.OfReplies(new { text = "0" }))
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
        RpcEndpoint stays = server.Endpoints[0];
        using RpcClient client = EchoServer.Connect(server);
        using CancellationTokenSource done = new();
        Task<int>[] callers = [.. Enumerable.Range(0, 4).Select(_ => Task.Run(() =>
        {
            int last = 0;
            while (!done.IsCancellationRequested)
            {
                int now = int.Parse(
                    client.Invoke<EchoReply>("Say", Request).Text,
                    System.Globalization.CultureInfo.InvariantCulture);
                Assert.True(now >= last, "An old handler came back.");
                last = now;
            }

            return last;
        }))];

        for (int i = 1; i <= 50; i++)
        {
            await server.ChangeAsync(new()
            {
                Handlers = Replies($"{i}"),
                Interceptors = i % 2 == 0 ? [] : [new CountingInterceptor()],
                Endpoints = i % 10 == 0
                    ? [stays, EchoServer.NewEndpoint(RpcTransport.Local)]
                    : null,
            });
        }

        await done.CancelAsync();
        await Task.WhenAll(callers).WaitAsync(Patience);
        Assert.Equal(0, server.Counters.Errors);
        Assert.Equal("50", client.Invoke<EchoReply>("Say", Request).Text);
    }

    private static Dictionary<string, RpcMethodHandler> Replies(string text) =>
        new() { ["Say"] = RpcMethodHandler.OfReplies(new { text }) };

    private static RpcServer Start(
        Func<RpcServerCallContext, EchoRequest, ValueTask<EchoReply>> say) =>
        RpcServer.Create(EchoServer.Schema, "calls.Echo")
            .Handle("Say", RpcMethodHandler.Create(say))
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();

    /// <summary>A handler that has begun, and waits for the test.</summary>
    private sealed class HeldReply
    {
        public TaskCompletionSource Began { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public TaskCompletionSource GoesOn { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public async ValueTask<EchoReply> SayAsync(RpcServerCallContext context, EchoRequest request)
        {
            Began.SetResult();
            await GoesOn.Task;
            return new EchoReply { Text = "old" };
        }
    }
}

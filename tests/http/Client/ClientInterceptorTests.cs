using Google.Protobuf;
using Shop;

namespace ProtoRpc.Http.Tests.Client;

public static class ClientInterceptorTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    public static TheoryData<string> Endpoints =>
        ["tcp://127.0.0.1:0", OrderServer.NewLocal(), "http://127.0.0.1:0", "grpc://127.0.0.1:0"];

    private static PlaceRequest Place(string id) => new() { Order = new Order { Id = id } };

    private static Task<RpcClient> ConnectAsync(OrderServer server, params IRpcClientInterceptor[] chain) =>
        RpcClient.ConnectAsync(server.Endpoint, OrderServer.Schema, new() { Interceptors = chain });

    [Theory]
    [MemberData(nameof(Endpoints))]
    public static async Task Calls_go_through_on_every_transport_blocking_or_not(string endpoint)
    {
        using OrderServer server = new(endpoint);
        Recorder recorder = new("1");
        await using RpcClient client = await ConnectAsync(server, recorder);
        RpcCallOptions options = new() { Headers = new() { { "x-own", "o" } }, Timeout = Patience };

        PlaceReply first = client.Invoke<PlaceReply>("Place", Place("a"), options);
        DynamicMessage second = await client.InvokeAsync("Place", Place("b"), options);
        DynamicMessage third = client.Invoke("Place", new { order = new { id = "c" } });

        Assert.Equal("a", first.Id);
        Assert.Equal("b", second.Get(second.Type.FindField("id")!));
        Assert.Equal("c", third.Get(third.Type.FindField("id")!));
        Assert.Equal(
            ["shop.Orders/Place a -> a", "shop.Orders/Place b -> b", "shop.Orders/Place c -> c"],
            recorder.Seen);
        Assert.Equal(["1", "1", "1"], server.Headers.Select(headers => headers.GetText("x-chain")));
        Assert.Equal(["o", "o", null], server.Headers.Select(headers => headers.GetText("x-own")));
        Assert.Equal(3, client.CallCount);
        Assert.Null(options.Headers.GetText("x-chain"));
    }

    [Fact]
    public static async Task The_first_interceptor_is_the_outermost()
    {
        using OrderServer server = new("grpc://127.0.0.1:0");
        await using RpcClient client = await ConnectAsync(server, new Recorder("1"), new Recorder("2"));

        await client.InvokeAsync<PlaceReply>("Place", Place("a"));

        Assert.Equal("1, 2", string.Join(", ", server.Headers.Single().GetAll("x-chain")));
    }

    [Theory]
    [MemberData(nameof(Endpoints))]
    public static async Task An_interceptor_makes_a_call_again(string endpoint)
    {
        using OrderServer server = new(endpoint) { Failures = 2 };
        Around retry = new(async (context, request, next) =>
        {
            for (int attempt = 1; ; attempt++)
            {
                try
                {
                    context.Headers.Set("x-attempt", $"{attempt}");
                    return await next(context, request);
                }
                catch (RpcException e) when (e.Code == RpcStatusCode.Aborted && attempt < 5)
                {
                    Assert.Equal("shop.Orders/Place", e.MethodName);
                }
            }
        });
        await using RpcClient client = await ConnectAsync(server, retry);

        Assert.Equal("fail", (await client.InvokeAsync<PlaceReply>("Place", Place("fail"))).Id);
        server.Failures = 1;
        Assert.Equal("fail", client.Invoke<PlaceReply>("Place", Place("fail")).Id);

        Assert.Equal(
            ["1", "2", "3", "1", "2"], server.Headers.Select(headers => headers.GetText("x-attempt")));
        Assert.Equal(2, client.CallCount);
    }

    [Fact]
    public static async Task An_interceptor_answers_without_the_server()
    {
        using OrderServer server = new("grpc://127.0.0.1:0");
        Around cache = new((_, request, _) => new(new PlaceReply { Id = "cached" }));
        await using RpcClient client = await ConnectAsync(server, cache);

        PlaceReply typed = await client.InvokeAsync<PlaceReply>("Place", Place("a"));
        DynamicMessage dynamic = client.Invoke("Place", Place("a"));

        Assert.Equal("cached", typed.Id);
        Assert.Equal("cached", dynamic.Get(dynamic.Type.FindField("id")!));
        Assert.Equal(0, server.Server.Counters.Calls);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public static async Task An_answer_of_another_type_is_an_error_that_names_both(bool isNull)
    {
        using OrderServer server = new("grpc://127.0.0.1:0");
        Around wrong = new((_, request, _) => new(isNull ? null! : request));
        await using RpcClient client = await ConnectAsync(server, wrong);

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync<PlaceReply>("Place", Place("a")));

        Assert.Equal(RpcStatusCode.Internal, error.Code);
        Assert.Contains(isNull ? "with nothing" : "with the message shop.PlaceRequest", error.Message);
        Assert.Contains("Return the message shop.PlaceReply", error.Message);
    }

    [Fact]
    public static async Task A_request_that_an_interceptor_changes_is_checked_and_sent()
    {
        using OrderServer server = new("tcp://127.0.0.1:0");
        IMessage other = Place("changed");
        Around change = new((context, _, next) => next(context, other));
        await using RpcClient client = await ConnectAsync(server, change);

        Assert.Equal("changed", (await client.InvokeAsync<PlaceReply>("Place", Place("a"))).Id);
        other = new WatchRequest();
        RpcException error =
            Assert.Throws<RpcException>(() => client.Invoke<PlaceReply>("Place", Place("a")));

        Assert.Contains("takes the message shop.PlaceRequest, not shop.WatchRequest", error.Message);
    }

    [Fact]
    public static async Task What_an_interceptor_throws_is_thrown_to_the_caller()
    {
        using OrderServer server = new("tcp://127.0.0.1:0");
        Around broken = new((_, _, _) => throw new NotSupportedException("no token"));
        Around refusing = new((_, _, _) => throw new RpcException(RpcStatusCode.Unauthenticated, "no token"));
        await using RpcClient client = await ConnectAsync(server, broken);
        await using RpcClient other = await ConnectAsync(server, refusing);

        Assert.Throws<NotSupportedException>(() => client.Invoke("Place", Place("a")));
        await Assert.ThrowsAsync<NotSupportedException>(() => client.InvokeAsync("Place", Place("a")));
        RpcException error = Assert.Throws<RpcException>(() => other.Invoke("Place", Place("a")));

        Assert.Equal("shop.Orders/Place", error.MethodName);
        Assert.Equal(server.Endpoint, error.Endpoint);
    }

    [Theory]
    [MemberData(nameof(Endpoints))]
    public static async Task All_tries_have_the_one_deadline_of_the_call(string endpoint)
    {
        using OrderServer server = new(endpoint) { Failures = int.MaxValue };
        List<DateTimeOffset?> deadlines = [];
        Around endless = new(async (context, request, next) =>
        {
            while (true)
            {
                try
                {
                    deadlines.Add(context.Deadline);
                    return await next(context, request);
                }
                catch (RpcException e) when (e.Code == RpcStatusCode.Aborted)
                {
                    await Task.Delay(5, context.CancellationToken);
                }
            }
        });
        await using RpcClient client = await ConnectAsync(server, endless);

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => client.InvokeAsync<PlaceReply>(
            "Place", Place("fail"), new() { Timeout = TimeSpan.FromMilliseconds(400) }));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        Assert.True(deadlines.Count > 1);
        Assert.NotNull(Assert.Single(deadlines.Distinct()));
    }

    [Fact]
    public static async Task The_options_retries_are_below_the_interceptors()
    {
        int port;
        using (OrderServer gone = new("tcp://127.0.0.1:0"))
        {
            port = gone.Endpoint.Port;
        }

        Recorder recorder = new("1");
        await using RpcClient client = await RpcClient.ConnectAsync(
            RpcEndpoint.Tcp("127.0.0.1", port), OrderServer.Schema,
            new() { Lazy = true, RetryCount = 2, Interceptors = [recorder] });

        await Assert.ThrowsAsync<RpcException>(() => client.InvokeAsync("Place", Place("a")));

        Assert.Equal(["shop.Orders/Place a -> Unavailable"], recorder.Seen);
    }

    [Fact]
    public static async Task Messages_of_streams_pass_through_interceptors()
    {
        using OrderServer server = new("grpc://127.0.0.1:0");
        Recorder recorder = new("1");
        await using RpcClient client = await ConnectAsync(server, recorder);

        await using RpcStreamingCall<WatchRequest, OrderEvent> call =
            await client.OpenAsync<WatchRequest, OrderEvent>("Track");
        await call.SendAsync(new WatchRequest { Id = "a" });
        Assert.True(await call.ReadAsync());
        await call.SendAsync(new WatchRequest { Id = "b" });
        Assert.True(await call.ReadAsync());
        await call.CompleteAsync();
        Assert.False(await call.ReadAsync());

        Assert.Equal(
            ["open shop.Orders/Track", "send a", "read a", "send b", "read b", "end"], recorder.Seen);
        Assert.Equal(1, client.CallCount);
    }

    [Theory]
    [InlineData("grpc://127.0.0.1:0")]
    [InlineData("http://127.0.0.1:0")]
    public static async Task Streams_of_replies_carry_the_headers_and_show_the_failure(string endpoint)
    {
        using OrderServer server = new(endpoint);
        Recorder recorder = new("1");
        await using RpcClient client = await ConnectAsync(server, recorder);

        RpcException error = await Assert.ThrowsAsync<RpcException>(async () =>
        {
            await foreach (DynamicMessage e in client.InvokeServerStreamAsync("Watch", new { id = "fail" }))
            {
            }
        });

        Assert.Equal("1", server.Headers.Single().GetText("x-chain"));
        Assert.Equal(RpcStatusCode.DataLoss, error.Code);
        Assert.Equal(
            ["open shop.Orders/Watch", "send fail", "read fail", "read fail", "read fail", "DataLoss"],
            recorder.Seen);
    }

    [Fact]
    public static async Task A_stream_can_be_an_interceptors_own()
    {
        using OrderServer server = new("grpc://127.0.0.1:0");
        Around own = new(null, (_, _) => new(new OwnStream(
            new OrderEvent { Number = 7 }, new OrderEvent { Number = 8 })));
        await using RpcClient client = await ConnectAsync(server, own);
        List<object?> numbers = [];

        await foreach (OrderEvent e in client.InvokeServerStreamAsync<OrderEvent>(
            "Watch", new WatchRequest()))
        {
            numbers.Add(e.Number);
        }

        await foreach (DynamicMessage e in client.InvokeServerStreamAsync("Watch", new WatchRequest()))
        {
            numbers.Add(e.Get(e.Type.FindField("number")!));
        }

        Assert.Equal([7, 8, 7, 8], numbers);
        Assert.Equal(0, server.Server.Counters.Calls);
    }

    [Theory]
    [InlineData("tcp://127.0.0.1:0")]
    [InlineData("http://127.0.0.1:0")]
    public static async Task Uploads_are_sent_again_from_their_start(string endpoint)
    {
        using OrderServer server = new(endpoint) { Failures = 1 };
        Around retry = new(async (context, request, next) =>
        {
            Assert.NotNull(context.Upload);
            try
            {
                return await next(context, request);
            }
            catch (RpcException)
            {
                return await next(context, request);
            }
        });
        await using RpcClient client = await ConnectAsync(server, retry);
        RpcMethodInfo method = OrderServer.Schema.GetMethod("Place");

        DynamicMessage reply = client.Upload(method, new MemoryStream(Place("fail").ToByteArray()));
        server.Failures = 1;
        DynamicMessage again =
            await client.UploadAsync(method, new MemoryStream(Place("fail").ToByteArray()));

        Assert.Equal("fail", reply.Get(reply.Type.FindField("id")!));
        Assert.Equal("fail", again.Get(again.Type.FindField("id")!));
        Assert.Equal(4, server.Headers.Count);
    }

    [Fact]
    public static async Task A_blocking_call_needs_no_thread_of_its_synchronization_context()
    {
        using OrderServer server = new("tcp://127.0.0.1:0");
        Around slow = new(async (context, request, next) =>
        {
            await Task.Yield();
            return await next(context, request);
        });
        await using RpcClient client = await ConnectAsync(server, slow);
        TaskCompletionSource<string> done = new();
        Thread thread = new(() =>
        {
            // Takes work and never does it: its one thread is the one that waits.
            SynchronizationContext.SetSynchronizationContext(new IdleContext());
            done.SetResult(client.Invoke<PlaceReply>("Place", Place("a")).Id);
        })
        {
            IsBackground = true,
        };

        thread.Start();

        Assert.Equal("a", await done.Task.WaitAsync(Patience));
    }

    [Fact]
    public static async Task An_interceptor_can_be_tested_without_a_client()
    {
        RpcClientCallContext context = new(
            OrderServer.Schema.GetMethod("Place"), RpcEndpoint.Local("nowhere"),
            new() { Headers = new() { { "x-own", "o" } } });
        Recorder recorder = new("1");

        IMessage reply = await recorder.InvokeAsync(context, Place("a"), (passed, _) =>
        {
            Assert.Equal("o", passed.Headers.GetText("x-own"));
            Assert.Equal("1", passed.Headers.GetText("x-chain"));
            return new(new PlaceReply { Id = "b" });
        });

        Assert.Equal("b", ((PlaceReply)reply).Id);
        Assert.Equal(["shop.Orders/Place a -> b"], recorder.Seen);
    }

    private sealed class IdleContext : SynchronizationContext
    {
        public override void Post(SendOrPostCallback d, object? state)
        {
        }
    }

    private sealed class Around(
        Func<RpcClientCallContext, IMessage, RpcClientHandler, ValueTask<IMessage>>? invoke,
        Func<RpcClientCallContext, RpcClientStreamHandler, ValueTask<RpcClientStream>>? open = null)
        : IRpcClientInterceptor
    {
        public ValueTask<IMessage> InvokeAsync(
            RpcClientCallContext context, IMessage request, RpcClientHandler next) =>
            invoke is null ? next(context, request) : invoke(context, request, next);

        public ValueTask<RpcClientStream> OpenAsync(
            RpcClientCallContext context, RpcClientStreamHandler next) =>
            open is null ? next(context) : open(context, next);
    }

    private sealed class OwnStream(params IMessage[] replies) : RpcClientStream
    {
        private int _next;

        public override IMessage? Current => replies[_next - 1];

        public override ValueTask<bool> SendAsync(
            IMessage request, bool compress, CancellationToken cancellationToken) => new(true);

        public override ValueTask CompleteAsync(CancellationToken cancellationToken) => default;

        public override ValueTask<bool> ReadAsync(CancellationToken cancellationToken) =>
            new(_next++ < replies.Length);

        public override ValueTask DisposeAsync() => default;
    }
}

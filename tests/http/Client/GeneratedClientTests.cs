using Google.Protobuf.WellKnownTypes;
using Shop;

namespace ProtoRpc.Http.Tests.Client;

/// <summary>Clients with generated messages: they need no schema, on any transport.</summary>
public static class GeneratedClientTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    public static TheoryData<string> Endpoints =>
        ["tcp://127.0.0.1:0", OrderServer.NewLocal(), "http://127.0.0.1:0", "grpc://127.0.0.1:0"];

    private static PlaceRequest Place(string id, params string[] items) =>
        new() { Order = new Order { Id = id, Items = { items } } };

    [Theory]
    [MemberData(nameof(Endpoints))]
    public static async Task Generated_requests_bring_the_schema(string endpoint)
    {
        using OrderServer server = new(endpoint);
        await using RpcClient client = await RpcClient.ConnectAsync(server.Endpoint);

        PlaceReply reply = await client.InvokeAsync<PlaceReply>("Place", Place("o1", "a", "b"));
        PlaceReply again = client.Invoke<PlaceReply>("shop.Orders/Place", Place("o2", "a"));
        DynamicMessage any = await client.InvokeAsync("Place", Place("o3"));

        Assert.Equal(("o1", 2, "o2", 1), (reply.Id, reply.Total, again.Id, again.Total));
        Assert.Equal("o3", any.Get(any.Type.FindField("id")!));
    }

    [Theory]
    [InlineData("Json")]
    [InlineData("Xml")]
    public static async Task Generated_requests_and_replies_go_in_text_formats(string format)
    {
        using OrderServer server = new("http://127.0.0.1:0");
        await using RpcClient client = await RpcClient.ConnectAsync(
            server.Endpoint,
            new RpcClientOptions { Format = MessageFormats.All.Single(f => f.Name == format) });

        // The first reply of a type is made in another way than those after it.
        for (int i = 1; i < 4; i++)
        {
            PlaceReply reply = await client.InvokeAsync<PlaceReply>(
                "Place", Place($"o{i}", [.. Enumerable.Repeat("a", i)]));
            Assert.Equal(($"o{i}", i), (reply.Id, reply.Total));
        }
    }

    [Fact]
    public static async Task The_reply_brings_the_schema_where_the_request_is_no_message_of_the_service()
    {
        using OrderServer server = new("grpc://127.0.0.1:0");
        await using RpcClient client = await RpcClient.ConnectAsync(server.Endpoint);

        Assert.Equal(42, (await client.InvokeAsync<PlaceReply>("Count", new Empty())).Total);
        Assert.Equal(1, (await client.InvokeAsync<PlaceReply>(
            "Place", new { order = new { items = new[] { "a" } } })).Total);
    }

    [Fact]
    public static async Task Files_without_a_service_are_told_to_need_a_schema()
    {
        using OrderServer server = new("grpc://127.0.0.1:0");
        await using RpcClient client = await RpcClient.ConnectAsync(server.Endpoint);

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync("Count", new Empty()));

        Assert.Equal(RpcStatusCode.FailedPrecondition, error.Code);
        Assert.Contains("'google/protobuf/empty.proto', declares no service", error.Message);
        Assert.Contains("RpcSchema.FromDescriptors", error.Message);
    }

    [Fact]
    public static async Task A_client_without_a_schema_says_how_to_get_one()
    {
        using OrderServer server = new("grpc://127.0.0.1:0");
        await using RpcClient client = await RpcClient.ConnectAsync(server.Endpoint);

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync("Place", new { order = new { id = "x" } }));
        await client.FetchSchemaAsync();
        DynamicMessage reply = await client.InvokeAsync("Place", new { order = new { id = "x" } });

        Assert.Contains("FetchSchema", error.Message);
        Assert.Equal("x", reply.Get(reply.Type.FindField("id")!));
    }

    [Theory]
    [InlineData("grpc://127.0.0.1:0", "Binary")]
    [InlineData("http://127.0.0.1:0", "Binary")]
    [InlineData("http://127.0.0.1:0", "Json")]
    public static async Task Replies_stream_to_one_generated_request(string endpoint, string format)
    {
        using OrderServer server = new(endpoint);
        await using RpcClient client = await RpcClient.ConnectAsync(
            server.Endpoint, new() { Format = MessageFormats.All.Single(known => known.Name == format) });
        List<int> numbers = [];

        await foreach (OrderEvent e in client.InvokeServerStreamAsync<OrderEvent>(
            "Watch", new WatchRequest { Id = "o1" }))
        {
            numbers.Add(e.Number);
        }

        Assert.Equal([1, 2, 3], numbers);
    }

    [Fact]
    public static async Task Requests_stream_from_a_sequence_of_generated_messages()
    {
        using OrderServer server = new("grpc://127.0.0.1:0");
        await using RpcClient client = await RpcClient.ConnectAsync(server.Endpoint);

        PlaceReply reply = await client.InvokeClientStreamAsync<PlaceReply>("Import", Requests());
        List<PlaceReply> replies = await client.InvokeDuplexStreamAsync<PlaceReply>("Import", Requests())
            .ToListAsync();

        Assert.Equal(6, reply.Total);
        Assert.Equal(6, Assert.Single(replies).Total);

        static async IAsyncEnumerable<PlaceRequest> Requests()
        {
            for (int i = 1; i <= 3; i++)
            {
                await Task.Yield();
                yield return Place($"{i}", [.. Enumerable.Repeat("x", i)]);
            }
        }
    }

    [Fact]
    public static async Task A_typed_call_sends_and_reads_in_turn()
    {
        using OrderServer server = new("grpc://127.0.0.1:0");
        await using RpcClient client = await RpcClient.ConnectAsync(server.Endpoint);

        await using RpcStreamingCall<WatchRequest, OrderEvent> call =
            client.Open<WatchRequest, OrderEvent>("Track");
        Assert.Throws<InvalidOperationException>(() => call.Current);
        for (int i = 1; i <= 20; i++)
        {
            Assert.True(await call.SendAsync(new WatchRequest { Id = $"o{i}" }));
            Assert.True(await call.ReadAsync());
            Assert.Equal((i, $"o{i}"), (call.Current.Number, call.Current.Text));
        }

        await call.CompleteAsync();
        Assert.Empty(await Collect(call.ReadAllAsync()));
        Assert.Equal(1, client.CallCount);
    }

    [Fact]
    public static async Task Types_that_are_not_the_methods_are_refused_before_anything_is_sent()
    {
        using OrderServer server = new("grpc://127.0.0.1:0");
        await using RpcClient client = await RpcClient.ConnectAsync(server.Endpoint);

        RpcException reply = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync<OrderEvent>("Place", Place("x")));
        RpcException request = Assert.Throws<RpcException>(
            () => client.Open<PlaceRequest, OrderEvent>("Watch"));
        RpcException name = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync<PlaceReply>("Plaec", Place("x")));

        Assert.Contains("returns shop.PlaceReply, not shop.OrderEvent", reply.Message);
        Assert.Contains("takes the message shop.WatchRequest, not shop.PlaceRequest", request.Message);
        Assert.Contains("'shop.Orders/Place'", name.Message);
        Assert.Equal(0, server.Server.Counters.Calls);
    }

    [Fact]
    public static async Task Texts_in_objects_are_texts_and_not_lists_in_json()
    {
        using OrderServer server = new("grpc://127.0.0.1:0");
        await using RpcClient client = RpcClient.Connect(server.Endpoint, OrderServer.Schema);

        DynamicMessage reply = await client.InvokeAsync(
            "Place", new { order = new { Items = """["a","b"]""" } });

        Assert.Equal(1, reply.Get(reply.Type.FindField("total")!));
    }

    [Fact]
    public static async Task A_token_of_a_read_cancels_the_call_on_the_server()
    {
        using OrderServer server = new("grpc://127.0.0.1:0");
        await using RpcClient client = await RpcClient.ConnectAsync(server.Endpoint);
        using CancellationTokenSource stop = new();
        await using RpcStreamingCall<WatchRequest, OrderEvent> call =
            client.Open<WatchRequest, OrderEvent>("Watch");
        await call.SendAsync(new WatchRequest { Id = "wait" }, cancellationToken: stop.Token);
        await call.CompleteAsync(stop.Token);
        for (int i = 0; i < 3; i++)
        {
            Assert.True(await call.ReadAsync(stop.Token));
        }

        ValueTask<bool> waiting = call.ReadAsync(stop.Token);
        await stop.CancelAsync();

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => waiting.AsTask());
        Assert.Equal((RpcStatusCode.Cancelled, "shop.Orders/Watch"), (error.Code, error.MethodName));
        await server.Cancelled.Task.WaitAsync(Patience);
        await Assert.ThrowsAsync<RpcException>(() => call.ReadAsync().AsTask());
    }

    [Theory]
    [MemberData(nameof(Endpoints))]
    public static async Task A_deadline_ends_a_call_and_the_earlier_of_two_wins(string endpoint)
    {
        using OrderServer server = new(endpoint);
        await using RpcClient client = await RpcClient.ConnectAsync(server.Endpoint);
        DateTimeOffset soon = DateTimeOffset.UtcNow.AddMilliseconds(300);

        foreach (RpcCallOptions options in new RpcCallOptions[]
        {
            new() { Deadline = soon },
            new() { Deadline = DateTimeOffset.MaxValue, Timeout = TimeSpan.FromMilliseconds(100) },
            new() { Deadline = DateTimeOffset.UtcNow.AddMilliseconds(300), Timeout = Patience },
        })
        {
            RpcException late = await Assert.ThrowsAsync<RpcException>(
                () => client.InvokeAsync<PlaceReply>("Place", Place("wait"), options));
            Assert.Equal(RpcStatusCode.DeadlineExceeded, late.Code);
        }

        RpcException passed = Assert.Throws<RpcException>(
            () => client.Invoke<PlaceReply>("Place", Place("x"), new() { Deadline = soon }));
        Assert.Equal((RpcStatusCode.DeadlineExceeded, false), (passed.Code, passed.MayHaveExecuted));
        Assert.Contains("was not sent", passed.Message);
    }

    [Theory]
    [MemberData(nameof(Endpoints))]
    public static async Task Whatever_waits_has_an_asynchronous_form(string endpoint)
    {
        using OrderServer server = new(endpoint);
        RpcClient client = await RpcClient.ConnectAsync(server.Endpoint, OrderServer.Schema);

        Assert.Equal("ProtoRpc", (await client.PingAsync(new() { Service = "shop.Orders" })).Product);
        if (!server.Endpoint.IsGrpc)
        {
            DynamicMessage reply = await client.UploadAsync(
                OrderServer.Schema.GetMethod("Place"),
                new MemoryStream(Google.Protobuf.MessageExtensions.ToByteArray(Place("o1", "a"))));
            Assert.Equal(1, reply.Get(reply.Type.FindField("total")!));
        }

        if (!server.Endpoint.IsNative)
        {
            Assert.Empty((await client.CompareSchemaAsync())!);
        }

        await client.DisposeAsync();
        Assert.False(client.IsOpen);
        await Assert.ThrowsAsync<ObjectDisposedException>(() => client.PingAsync());
    }

    [Theory]
    [InlineData("tcp://127.0.0.1:1")]
    [InlineData("http://127.0.0.1:1")]
    [InlineData("grpc://127.0.0.1:1")]
    public static async Task Connecting_reports_what_is_wrong_and_takes_a_token(string endpoint)
    {
        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => RpcClient.ConnectAsync(endpoint, OrderServer.Schema));
        await Assert.ThrowsAnyAsync<OperationCanceledException>(
            () => RpcClient.ConnectAsync(endpoint, new() { RetryCount = 3 }, new CancellationToken(true)));

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
    }

    private static async Task<List<T>> Collect<T>(IAsyncEnumerable<T> items)
    {
        List<T> list = [];
        await foreach (T item in items)
        {
            list.Add(item);
        }

        return list;
    }
}

using System.Diagnostics;
using Google.Protobuf.Reflection;
using ProtoRpc.Tests.Transports;

namespace ProtoRpc.Tests.Mocks;

public static class RpcMockTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    [Fact]
    public static void A_mock_that_was_told_nothing_answers_with_a_valid_template()
    {
        using RpcMock mock = Store.Mock().StartListening();
        using RpcClient client = Store.Connect(mock.Endpoint);

        DynamicMessage item = client.Invoke("Find", Store.Query("x"));
        DynamicMessage wide = client.Invoke("Deep", Store.Query("x"));

        Assert.Equal("", item["name"]);
        Assert.Equal(3, item["level"]);
        Assert.NotNull(wide["narrow"]);
    }

    [Fact]
    public static async Task Templates_answer_all_four_kinds()
    {
        using RpcMock mock = Store.Mock().StartListening();
        using RpcClient client = Store.Connect(mock.Endpoint);

        Assert.Equal([""], await Store.WatchAsync(client, "x"));
        Assert.Equal([""], await Store.SendAsync(client, "Collect", "a", "b"));
        Assert.Equal([""], await Store.SendAsync(client, "Talk", "a", "b"));
        Assert.Equal(
            ["a", "b"], mock.CallsOf("Collect").Single().Requests.Select(request => request["text"]));
        Assert.Equal(["a", "b"], mock.CallsOf("Talk").Single().Requests.Select(request => request["text"]));
    }

    [Fact]
    public static void A_type_that_requires_itself_has_no_template_and_the_caller_learns_what_to_do()
    {
        using RpcMock mock = Store.Mock().StartListening();
        using RpcClient client = Store.Connect(mock.Endpoint);

        RpcException error = Assert.Throws<RpcException>(() => client.Invoke("Loop", Store.Query("x")));

        Assert.Equal(RpcStatusCode.Unimplemented, error.Code);
        Assert.Contains("Give the mock a reply", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void Replies_come_one_after_the_other_and_the_last_one_stays()
    {
        using RpcMock mock = Store.Mock()
            .Reply("Find", Store.Item("one"), Store.Item("two"))
            .StartListening();
        using RpcClient client = Store.Connect(mock.Endpoint);

        Assert.Equal(
            ["one", "two", "two"], Enumerable.Range(0, 3).Select(_ => Store.Find(client, "x")));

        mock.Reset();
        Assert.Equal("one", Store.Find(client, "x"));
        Assert.Single(mock.Calls);
    }

    [Fact]
    public static void Reset_sets_back_what_the_mock_started_with()
    {
        using RpcMock mock = Store.Mock()
            .Reply("Find", Store.Item("one"), Store.Item("two"))
            .StartListening();
        using RpcClient client = Store.Connect(mock.Endpoint);
        Store.Find(client, "x");
        mock.Reply("Find", Store.Item("other")).Reply(
            "Loop", new RpcException(RpcStatusCode.NotFound, "other"));
        mock.Latency = TimeSpan.FromMilliseconds(1);
        Assert.Equal("other", Store.Find(client, "x"));

        mock.Reset();

        Assert.Equal(["one", "two"], Enumerable.Range(0, 2).Select(_ => Store.Find(client, "x")));
        Assert.Equal(
            RpcStatusCode.Unimplemented,
            Assert.Throws<RpcException>(() => client.Invoke("Loop", Store.Query("x"))).Code);
        Assert.Equal(TimeSpan.Zero, mock.Latency);
        Assert.Equal(3, mock.Calls.Count);
    }

    [Fact]
    public static void Reset_before_it_listens_keeps_the_replies()
    {
        using RpcMock mock = Store.Mock().Reply("Find", Store.Item("one"));

        mock.Reset();
        mock.StartListening();

        using RpcClient client = Store.Connect(mock.Endpoint);
        Assert.Equal("one", Store.Find(client, "x"));
    }

    [Fact]
    public static void An_exception_fails_the_call_with_its_status_details_and_trailers()
    {
        RpcException down = new(RpcStatusCode.Unavailable, "down")
        {
            Details = [Google.Protobuf.WellKnownTypes.Duration.FromTimeSpan(TimeSpan.FromSeconds(3))],
            Trailers = new Dictionary<string, string> { ["retry-after"] = "3" },
        };
        using RpcMock mock = Store.Mock().Reply("Find", down, Store.Item("up")).StartListening();
        using RpcClient client = Store.Connect(mock.Endpoint);

        RpcException error = Assert.Throws<RpcException>(() => Store.Find(client, "x"));

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
        Assert.Equal("down", error.Message);
        Assert.Equal("3", error.Trailers["retry-after"]);
        Assert.Single(error.Details);
        Assert.Equal("up", Store.Find(client, "x"));
        RpcRecordedCall call = mock.Calls[0];
        Assert.Equal((RpcStatusCode.Unavailable, "down"), (call.Status, call.Message));
        Assert.Empty(call.Replies);
    }

    [Fact]
    public static async Task A_list_is_a_stream_and_may_end_with_an_exception()
    {
        object[] broken = [Store.Item("a"), Store.Item("b"), new RpcException(RpcStatusCode.Aborted, "cut")];
        using RpcMock mock = Store.Mock()
            .Reply("Watch", new List<object> { Store.Item("x") }, broken)
            .Reply("Talk", [new[] { Store.Item("p"), Store.Item("q") }])
            .StartListening();
        using RpcClient client = Store.Connect(mock.Endpoint);

        Assert.Equal(["x"], await Store.WatchAsync(client, "1"));
        RpcException error = await Assert.ThrowsAsync<RpcException>(() => Store.WatchAsync(client, "2"));
        Assert.Equal(RpcStatusCode.Aborted, error.Code);
        Assert.Equal(["p", "q"], await Store.SendAsync(client, "Talk", "1", "2", "3"));
        Assert.Equal(2, mock.CallsOf("Watch")[1].Replies.Count);
        Assert.Equal(3, mock.CallsOf("Talk").Single().Requests.Count);
    }

    [Fact]
    public static async Task An_array_or_list_of_messages_is_the_stream_of_every_call()
    {
        DynamicMessage a = Named("a");
        DynamicMessage b = Named("b");
        Dictionary<string, object?> c = new() { ["name"] = "c", ["level"] = "LOW" };
        using RpcMock mock = Store.Mock()
            .Reply("Watch", new[] { a, b })
            .Reply("Find", new[] { a, b })
            .StartListening();
        using RpcClient client = Store.Connect(mock.Endpoint);

        Assert.Equal(["a", "b"], await Store.WatchAsync(client, "1"));
        Assert.Equal(["a", "b"], await Store.WatchAsync(client, "2"));
        Assert.Equal(["a", "b"], [Store.Find(client, "1"), Store.Find(client, "2")]);

        mock.Reply("Watch", new List<DynamicMessage> { b, a });
        Assert.Equal(["b", "a"], await Store.WatchAsync(client, "3"));
        mock.Reply("Watch", new[] { c, c });
        Assert.Equal(["c", "c"], await Store.WatchAsync(client, "4"));
        mock.Reply("Watch", new[] { new { name = "d", level = 3 }, new { name = "e", level = 3 } });
        Assert.Equal(["d", "e"], await Store.WatchAsync(client, "5"));
    }

    [Fact]
    public static async Task Replies_that_are_given_one_by_one_are_for_one_call_each()
    {
        DynamicMessage a = Named("a");
        DynamicMessage b = Named("b");
        using RpcMock mock = Store.Mock().Reply("Watch", a, b).StartListening();
        using RpcClient client = Store.Connect(mock.Endpoint);

        Assert.Equal(["a"], await Store.WatchAsync(client, "1"));
        Assert.Equal(["b"], await Store.WatchAsync(client, "2"));

        mock.Reply("Watch", new[] { new[] { a, b }, new[] { b } });
        Assert.Equal(["a", "b"], await Store.WatchAsync(client, "3"));
        Assert.Equal(["b"], await Store.WatchAsync(client, "4"));
        mock.Reply("Watch", new[] { new RpcException(RpcStatusCode.Aborted, "cut") });
        Assert.Equal(
            RpcStatusCode.Aborted,
            (await Assert.ThrowsAsync<RpcException>(() => Store.WatchAsync(client, "5"))).Code);
    }

    [Fact]
    public static async Task A_handler_answers_calls_of_every_kind()
    {
        RpcMethodHandler echo = RpcMethodHandler.OfStreams(async (context, stream) =>
        {
            string all = "";
            await foreach (Google.Protobuf.IMessage request in stream.ReadAllAsync())
            {
                all += ((DynamicMessage)request)["text"];
            }

            DynamicMessage reply = new(context.Method.ReplyType) { ["name"] = all, ["level"] = 4 };
            await stream.WriteAsync(reply);
        });
        using RpcMock mock = Store.Mock().StartListening();
        foreach (string method in new[] { "Find", "Watch", "Collect", "Talk" })
        {
            mock.Reply(method, echo);
        }

        using RpcClient client = Store.Connect(mock.Endpoint);

        Assert.Equal("x", Store.Find(client, "x"));
        Assert.Equal(["y"], await Store.WatchAsync(client, "y"));
        Assert.Equal(["abc"], await Store.SendAsync(client, "Collect", "a", "b", "c"));
        Assert.Equal(["abc"], await Store.SendAsync(client, "Talk", "a", "b", "c"));
    }

    [Fact]
    public static void A_handler_with_generated_types_gets_its_types()
    {
        RpcSchema schema = RpcSchema.FromDescriptors(EchoRequest.Descriptor.File);
        using RpcMock mock = RpcMock.Create(schema, ["calls.Echo"])
            .Reply("Say", RpcMethodHandler.Create<EchoRequest, EchoReply>(
                (_, request) => ValueTask.FromResult(new EchoReply { Text = request.Text + "!" })))
            .StartListening();
        using RpcClient client = RpcClient.Connect(mock.Endpoint, schema);

        Assert.Equal("hi!", client.Invoke<EchoReply>("calls.Echo/Say", new EchoRequest { Text = "hi" }).Text);
    }

    [Fact]
    public static async Task The_latency_delays_every_call_and_ends_with_the_caller()
    {
        using RpcMock mock = Store.Mock().StartListening();
        using RpcClient client = Store.Connect(mock.Endpoint);
        mock.Latency = TimeSpan.FromMilliseconds(150);
        long start = Stopwatch.GetTimestamp();
        Store.Find(client, "x");
        Assert.True(Stopwatch.GetElapsedTime(start) >= TimeSpan.FromMilliseconds(140));

        mock.Latency = TimeSpan.FromHours(1);
        RpcException late = await Assert.ThrowsAsync<RpcException>(() => client.InvokeAsync(
            "Find", Store.Query("x"), new RpcCallOptions { Timeout = TimeSpan.FromMilliseconds(100) })
            .WaitAsync(Patience));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, late.Code);
        await Eventually.TrueAsync(() => mock.Calls[1].Status is not null, "the call has ended");
    }

    [Fact]
    public static async Task A_call_is_there_while_it_runs()
    {
        using RpcMock mock = Store.Mock().StartListening();
        mock.Latency = TimeSpan.FromHours(1);
        using RpcClient client = Store.Connect(mock.Endpoint);
        using CancellationTokenSource leave = new();

        Task<DynamicMessage> calling = client.InvokeAsync(
            "Find", Store.Query("x"), cancellationToken: leave.Token);
        await Eventually.TrueAsync(() => mock.Calls.Count == 1, "the call came");
        Assert.Null(mock.Calls[0].Status);
        Assert.Equal("x", mock.Calls[0].Requests[0]["text"]);
        await leave.CancelAsync();

        await Assert.ThrowsAnyAsync<Exception>(() => calling.WaitAsync(Patience));
    }

    [Fact]
    public static void Who_called_with_what_headers_is_recorded()
    {
        using RpcMock mock = Store.Mock().StartListening();
        using RpcClient client = Store.Connect(mock.Endpoint);
        RpcMetadata headers = new();
        headers.Add("tenant", "t1");

        client.Invoke("Find", Store.Query("x"), new RpcCallOptions { Headers = headers });

        RpcRecordedCall call = mock.CallsOf("store.Store/Find").Single();
        Assert.Equal("t1", call.Headers.GetText("tenant"));
        Assert.Equal(LocalUser.Name, call.User);
        Assert.Equal(RpcStatusCode.OK, call.Status);
        Assert.Single(call.Replies);
        Assert.InRange(call.Duration!.Value, TimeSpan.Zero, Patience);
    }

    [Fact]
    public static void Old_calls_make_room_and_are_counted()
    {
        using RpcMock mock = Store.Mock().StartListening();
        using RpcClient client = Store.Connect(mock.Endpoint);

        for (int i = 0; i < RpcMock.MaxCalls + 5; i++)
        {
            Store.Find(client, $"{i}");
        }

        Assert.Equal(RpcMock.MaxCalls, mock.Calls.Count);
        Assert.Equal(5, mock.DroppedCalls);
        Assert.Equal("5", mock.Calls[0].Requests[0]["text"]);
    }

    [Fact]
    public static void The_bytes_of_all_calls_are_bounded()
    {
        const int Size = 3_000_000;
        using RpcMock mock = Store.Mock().StartListening();
        using RpcClient client = Store.Connect(mock.Endpoint);
        string large = new('x', Size);

        for (int i = 0; i < 30; i++)
        {
            client.Invoke("Find", Store.Query(large));
        }

        Assert.InRange(mock.Calls.Count, 15, RpcMock.MaxBytes / Size);
        Assert.Equal(30 - mock.Calls.Count, mock.DroppedCalls);
    }

    [Fact]
    public static async Task Calls_at_the_same_time_get_each_reply_once()
    {
        const int Count = 200;
        using RpcMock mock = Store.Mock()
            .Reply("Find", [.. Enumerable.Range(0, Count).Select(i => Store.Item($"{i}"))])
            .StartListening();
        using RpcClient client = Store.Connect(mock.Endpoint);
        string[] names = new string[Count];

        // Without threads that wait: the pool answers the calls.
        await Parallel.ForAsync(0, Count, async (i, _) =>
            names[i] = (string)(await client.InvokeAsync("Find", Store.Query("x")))["name"]!);

        Assert.Equal(Count, names.Distinct().Count());
        Assert.Equal(Count, mock.Calls.Count);
    }

    [Fact]
    public static void Replies_are_replaced_while_it_listens()
    {
        using RpcMock mock = Store.Mock().Reply("Find", Store.Item("old")).StartListening();
        using RpcClient client = Store.Connect(mock.Endpoint);
        Assert.Equal("old", Store.Find(client, "x"));

        mock.Reply("find", Store.Item("new"));

        Assert.Equal("new", Store.Find(client, "x"));
    }

    [Theory]
    [InlineData("Fund", RpcErrorIds.MethodNotFound)]
    [InlineData("Nothing.At/All", RpcErrorIds.MethodNotFound)]
    public static void A_method_that_there_is_not_is_refused(string method, string errorId)
    {
        using RpcMock mock = Store.Mock();

        Assert.Equal(errorId, Assert.Throws<RpcException>(() => mock.Reply(method, 1)).ErrorId);
        Assert.Equal(errorId, Assert.Throws<RpcException>(() => mock.CallsOf(method)).ErrorId);
    }

    [Fact]
    public static void A_bare_name_that_two_services_have_is_refused_and_the_full_one_works()
    {
        using RpcMock mock = RpcMock.Create(Store.Schema).StartListening();

        RpcException error = Assert.Throws<RpcException>(() => mock.Reply("Find", Store.Item("x")));
        mock.Reply("store.Side/Find", Store.Item("side"));
        using RpcClient client = RpcClient.Connect(mock.Endpoint, Store.Schema);

        Assert.Equal(RpcErrorIds.AmbiguousName, error.ErrorId);
        Assert.Equal("side", client.Invoke("store.Side/Find", Store.Query("x"))["name"]);
    }

    [Fact]
    public static void Replies_that_do_not_fit_are_refused_at_once_with_their_place()
    {
        using RpcMock mock = Store.Mock();

        RpcException missing = Refused("Find", Store.Item("x"), new { name = "no level" });
        RpcException list = Refused("Find", [new List<object> { Store.Item("x") }]);
        RpcException text = Refused("Find", "text");
        RpcException none = Refused("Find");
        object[] goesOn = [new RpcException(RpcStatusCode.Aborted, "x"), Store.Item("x")];
        RpcException after = Refused("Watch", [goesOn]);

        Assert.Contains("Reply 2 of store.Store/Find", missing.Message, StringComparison.Ordinal);
        Assert.Equal(RpcErrorIds.MissingRequiredField, missing.ErrorId);
        Assert.All([list, text, none, after], e => Assert.Equal(RpcErrorIds.InvalidHandler, e.ErrorId));

        RpcException Refused(string method, params IReadOnlyList<object> replies) =>
            Assert.Throws<RpcException>(() => mock.Reply(method, replies));
    }

    [Fact]
    public static void A_schema_without_services_has_nothing_to_mock()
    {
        RpcSchema schema = RpcSchema.FromDescriptors((FileDescriptor)
            Google.Protobuf.WellKnownTypes.TimestampReflection.Descriptor);

        Assert.Equal(
            RpcStatusCode.NotFound, Assert.Throws<RpcException>(() => RpcMock.Create(schema)).Code);
    }

    [Fact]
    public static void Other_processes_reach_a_mock_on_an_endpoint_that_is_given()
    {
        using RpcMock mock = Store.Mock().AddEndpoint("ncacn_ip_tcp:127.0.0.1[0]").StartListening();
        using RpcClient client = Store.Connect(mock.Endpoint);

        Assert.Equal("", Store.Find(client, "x"));
        Assert.StartsWith("127.0.0.1:", mock.Calls.Single().Peer, StringComparison.Ordinal);
    }

    private static DynamicMessage Named(string name) =>
        MessageFormats.Json.Read(
            Store.Schema.GetMessage("store.Item"), $$"""{"name":"{{name}}","level":"LOW"}""");
}

using System.Diagnostics;
using ProtoRpc.Tests.Client.InProcess;
using ProtoRpc.Tests.Client.Talk;
using static ProtoRpc.Tests.LoadTesting.MeasuredServer;

namespace ProtoRpc.Tests.LoadTesting;

public static class RpcLoadTestTests
{
    [Theory]
    [InlineData(RpcTransport.Tcp)]
    [InlineData(RpcTransport.NamedPipe)]
    [InlineData(RpcTransport.Local)]
    public static async Task A_count_is_exactly_what_the_server_gets(RpcTransport transport)
    {
        int got = 0;
        await using RpcServer server = RpcServer.Create(EchoServer.Schema, "calls.Echo")
            .Handle<EchoRequest, EchoReply>("Say", (_, request) =>
            {
                Interlocked.Increment(ref got);
                return new EchoReply { Text = request.Text };
            })
            .AddEndpoint(EchoServer.NewEndpoint(transport))
            .StartListening();
        using RpcClient client = EchoServer.Connect(server);

        RpcLoadResult result = await RunAsync(
            TargetOf(client, client.GetMethod("Say"), new EchoRequest { Text = "abc" }),
            new RpcLoadOptions { Count = 250, Concurrency = 4 });

        Assert.Equal(250, got);
        Assert.Equal((250, 250, 0), (result.Calls, result.Succeeded, result.Failed));
        Assert.Equal((250, 250), (result.MessagesSent, result.MessagesReceived));
        Assert.Equal((1250, 1250), (result.BytesSent, result.BytesReceived));
        Assert.Equal(250, result.Latency.Count);
        Assert.True(result.Min > 0 && result.Min <= result.P50 && result.P50 <= result.P90);
        Assert.True(result.P90 <= result.P99 && result.P99 <= result.P999 && result.P999 <= result.Max);
        Assert.True(result.CallsPerSecond > 0 && result.BytesSentPerSecond > 0);
        Assert.Null(result.Stopped);
        Assert.Null(result.Error);
        Assert.Empty(result.Errors);
        Assert.Equal("calls.Echo/Say", result.Method);
        Assert.Equal(server.Endpoints[0].ToString(), result.Endpoint);
    }

    [Theory]
    [InlineData("Say", 1, 1, 1)]
    [InlineData("Split", 1, 1, 2)]
    [InlineData("Join", 3, 3, 1)]
    [InlineData("Chat", 3, 3, 3)]
    public static async Task Methods_of_every_kind_are_measured(string name, int messages, int sent, int came)
    {
        using TalkServer server = new();
        using RpcClient client = server.Connect();
        RpcMethodInfo method = client.GetMethod(name);
        object[] words = [.. Enumerable.Repeat(new Words { Text = "a b" }, messages)];

        RpcLoadResult result = await RunAsync(
            new RpcLoadTarget(client, method, RpcLoadRequests.Same(method, words)),
            new RpcLoadOptions { Count = 40, Concurrency = 3 });

        Assert.Empty(result.Errors);
        Assert.Equal(40, result.Succeeded);
        Assert.Equal(40 * sent, result.MessagesSent);
        Assert.Equal(40 * came, result.MessagesReceived);
        Assert.Equal(40 * sent * 5, result.BytesSent);
        Assert.True(result.BytesReceived > 0);
    }

    [Fact]
    public static async Task A_duration_ends_the_test_and_the_warm_up_does_not_count()
    {
        int got = 0;
        using RpcServer server = Serve(_ => Interlocked.Increment(ref got));
        using RpcClient client = Connect(server);
        long start = Stopwatch.GetTimestamp();

        RpcLoadResult result = await RunAsync(
            TargetOf(client, Say, new Words()),
            new RpcLoadOptions
            {
                Duration = TimeSpan.FromMilliseconds(200),
                WarmUp = TimeSpan.FromMilliseconds(100),
                Concurrency = 2,
            });

        Assert.InRange(Stopwatch.GetElapsedTime(start).TotalMilliseconds, 300, 20_000);
        Assert.InRange(result.Elapsed.TotalMilliseconds, 200, 20_000);
        Assert.InRange(result.Calls, 1, got - 1);
    }

    [Fact]
    public static async Task A_rate_is_held_and_calls_are_not_late_while_callers_are_free()
    {
        using RpcServer server = Serve(_ => { });
        using RpcClient client = Connect(server);

        RpcLoadResult result = await RunAsync(
            TargetOf(client, Say, new Words()),
            new RpcLoadOptions { Count = 50, Rate = 200, Concurrency = 20 });

        // The last of 49 calls after the first is due after 240 ms.
        Assert.InRange(result.Elapsed.TotalMilliseconds, 235, 20_000);
        Assert.Equal(50, result.Succeeded);
        Assert.Equal(0, result.NotSent);
        Assert.Equal(200, result.Rate);
    }

    [Fact]
    public static async Task A_low_rate_is_held_by_each_of_several_targets()
    {
        using TalkServer server = new();
        using RpcClient client = server.Connect();
        RpcLoadTarget target = TargetOf(client, Say, new Words());
        RpcLoadOptions options = new() { Rate = 5, Concurrency = 2 };

        // Four turns of 150 ms each, of which calls are due in each second one.
        IReadOnlyList<RpcLoadResult> timed = await new RpcLoadTest(
            [target, target], options with { Duration = TimeSpan.FromMilliseconds(600) }).RunAsync();
        IReadOnlyList<RpcLoadResult> counted = await new RpcLoadTest(
            [target, target], options with { Count = 4 }).RunAsync();

        Assert.All(timed, result => Assert.Equal(3, result.Calls + result.NotSent));
        Assert.All(timed, result => Assert.InRange(result.Elapsed.TotalMilliseconds, 600, 20_000));

        // Three calls are paced, the first of which is due at once.
        Assert.All(counted, result => Assert.InRange(result.Elapsed.TotalMilliseconds, 395, 20_000));
    }

    [Fact]
    public static async Task A_server_that_stalls_once_shows_in_the_percentiles_of_an_open_loop()
    {
        // One caller, so that all calls of the stall's time wait behind the one that stalls.
        int calls = 0;
        TimeSpan stall = TimeSpan.FromMilliseconds(300);
        using RpcServer server = Serve(_ =>
        {
            if (Interlocked.Increment(ref calls) == 50)
            {
                Thread.Sleep(stall);
            }
        });
        using RpcClient client = Connect(server);
        RpcLoadTarget target = TargetOf(client, Say, new Words());

        RpcLoadResult open = await RunAsync(
            target, new RpcLoadOptions { Count = 300, Rate = 500, Concurrency = 1 });
        calls = 0;
        RpcLoadResult closed = await RunAsync(
            target, new RpcLoadOptions { Count = 300, Concurrency = 1 });

        // Calls were due every 2 ms: about 150 in the stall, of which a third waited for more than 200 ms.
        Assert.InRange(open.P999, 280, 20_000);
        Assert.InRange(open.P90, 100, 20_000);
        Assert.InRange(open.Late, 100, 300);
        Assert.InRange(closed.Max, 290, 20_000);
        Assert.True(closed.P90 < open.P90, "A closed loop does not see what it does not send.");
        Assert.Equal(0, closed.Late);
    }

    [Fact]
    public static async Task Calls_that_no_caller_was_free_for_are_counted_as_not_sent()
    {
        using RpcServer server = Serve(_ => Thread.Sleep(100));
        using RpcClient client = Connect(server);

        RpcLoadResult result = await RunAsync(
            TargetOf(client, Say, new Words()),
            new RpcLoadOptions { Duration = TimeSpan.FromMilliseconds(400), Rate = 100, Concurrency = 1 });

        Assert.Equal(40, result.Calls + result.NotSent);
        Assert.InRange(result.NotSent, 30, 39);
    }

    [Fact]
    public static async Task Several_targets_are_called_in_turns()
    {
        List<char> order = [];
        using RpcServer a = Serve(_ => order.Add('a'));
        using RpcServer b = Serve(_ => order.Add('b'));
        using RpcClient ofA = Connect(a);
        using RpcClient ofB = Connect(b);

        IReadOnlyList<RpcLoadResult> results = await new RpcLoadTest(
            [TargetOf(ofA, Say, new Words()), TargetOf(ofB, Say, new Words())],
            new RpcLoadOptions { Count = 9, Concurrency = 1 }).RunAsync();

        Assert.Equal([9, 9], results.Select(result => result.Calls));
        Assert.Equal("ab" + "aabb" + "bbaa" + "aabb" + "bbaa", new string([.. order]));
    }

    [Fact]
    public static async Task Callers_are_spread_over_the_clients()
    {
        using TalkServer server = new();
        using RpcClient first = server.Connect();
        using RpcClient second = server.Connect();

        RpcLoadResult result = await RunAsync(
            new RpcLoadTarget("both", [first, second], Say, RpcLoadRequests.Same(Say, new Words())),
            new RpcLoadOptions { Duration = TimeSpan.FromMilliseconds(200), Concurrency = 4 });

        Assert.Equal(("both", 2), (result.Name, result.Connections));
        Assert.True(first.CallCount > 0 && second.CallCount > 0);
    }

    [Fact]
    public static async Task More_callers_than_threads_call_too()
    {
        using TalkServer server = new();
        using RpcClient client = server.Connect();

        RpcLoadResult result = await RunAsync(
            TargetOf(client, Say, new Words()), new RpcLoadOptions { Count = 2000, Concurrency = 500 });

        Assert.Equal(2000, result.Succeeded);
    }

    [Fact]
    public static async Task Interceptors_of_the_client_see_messages()
    {
        using TalkServer server = new();
        SpyInterceptor spy = new();
        using RpcClient client = server.Connect(new RpcClientOptions { Interceptors = [spy] });

        RpcLoadResult result = await RunAsync(
            TargetOf(client, Say, new Words { Text = "x" }),
            new RpcLoadOptions { Count = 5, Concurrency = 1 });

        Assert.Equal(5, result.Succeeded);
        Assert.Equal(5, spy.Calls);
    }

    [Fact]
    public static async Task Progress_grows_to_the_whole()
    {
        using TalkServer server = new();
        using RpcClient client = server.Connect();
        RpcLoadTest test = new(
            [TargetOf(client, Say, new Words())], new RpcLoadOptions { Count = 100, Concurrency = 1 });

        Assert.Equal(0, test.Progress.Share);
        await test.RunAsync();

        Assert.Equal((100, 0, 1.0), (test.Progress.Calls, test.Progress.Failed, test.Progress.Share));
        Assert.Equal(server.Endpoint.ToString(), test.Progress.Target);
        await Assert.ThrowsAsync<InvalidOperationException>(() => test.RunAsync());
    }

    [Fact]
    public static void A_test_without_an_end_or_with_values_out_of_range_is_refused()
    {
        using TalkServer server = new();
        using RpcClient client = server.Connect();
        RpcLoadTarget target = TargetOf(client, Say, new Words());
        RpcLoadOptions good = new() { Count = 1 };

        AssertRefused(new RpcLoadOptions(), "must end");
        AssertRefused(good with { Count = 0 }, "Count is 0");
        AssertRefused(good with { Duration = TimeSpan.Zero }, "Duration is 00:00:00");
        AssertRefused(good with { Duration = TimeSpan.FromDays(2) }, "Duration is");
        AssertRefused(good with { WarmUp = TimeSpan.FromSeconds(-1) }, "WarmUp is");
        AssertRefused(good with { Concurrency = 0 }, "Concurrency is 0");
        AssertRefused(good with { Concurrency = 5000 }, "4,096 callers");
        AssertRefused(good with { Rate = 0 }, "Rate is 0");
        AssertRefused(good with { Rate = double.NaN }, "Rate is NaN");
        AssertRefused(good with { Rate = 2e6 }, "1,000,000 calls a second");
        AssertRefused(good with { MaxErrors = -1 }, "MaxErrors is -1");
        Assert.Throws<ArgumentOutOfRangeException>(() => new RpcLoadTest([], good));

        void AssertRefused(RpcLoadOptions options, string why)
        {
            RpcException error = Assert.Throws<RpcException>(() => new RpcLoadTest([target], options));
            Assert.Equal(RpcErrorIds.InvalidLoadTest, error.ErrorId);
            Assert.Contains(why, error.Message, StringComparison.Ordinal);
        }
    }
}

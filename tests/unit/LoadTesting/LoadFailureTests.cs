using System.Diagnostics;
using ProtoRpc.Tests.Client.InProcess;
using ProtoRpc.Tests.Client.Talk;
using ProtoRpc.Tests.Transports;
using static ProtoRpc.Tests.LoadTesting.MeasuredServer;

namespace ProtoRpc.Tests.LoadTesting;

/// <summary>Load tests whose calls fail, and those that end before their time.</summary>
public static class LoadFailureTests
{
    [Fact]
    public static async Task Failures_are_counted_by_status_and_do_not_end_the_test()
    {
        int calls = 0;
        using RpcServer server = Serve(_ =>
        {
            int number = Interlocked.Increment(ref calls);
            if (number % 2 == 0)
            {
                throw new RpcException(
                    number % 4 == 0 ? RpcStatusCode.NotFound : RpcStatusCode.Aborted, "no\u001b[31m");
            }
        });
        using RpcClient client = Connect(server);

        RpcLoadResult result = await RunAsync(
            TargetOf(client, Say, new Words()), new RpcLoadOptions { Count = 402, Concurrency = 1 });

        Assert.Equal((402, 201, 201), (result.Calls, result.Succeeded, result.Failed));
        Assert.Equal(
            [(RpcStatusCode.Aborted, 101L), (RpcStatusCode.NotFound, 100L)],
            result.Errors.Select(error => (error.Status, error.Count)));
        Assert.Equal("no\\u001B[31m", result.Errors[0].First.Message);
        Assert.Equal(201, result.Latency.Count);
        Assert.Null(result.Stopped);
    }

    [Fact]
    public static async Task A_call_beyond_its_deadline_counts_as_slow_as_its_deadline()
    {
        using TalkServer server = new();
        using RpcClient client = server.Connect();

        RpcLoadResult result = await RunAsync(
            TargetOf(client, Say, new Words { Text = "wait" }),
            new RpcLoadOptions
            {
                Count = 2,
                Concurrency = 1,
                CallOptions = new RpcCallOptions { Timeout = TimeSpan.FromMilliseconds(50) },
            });

        Assert.Equal(RpcStatusCode.DeadlineExceeded, Assert.Single(result.Errors).Status);
        Assert.Equal(2, result.Latency.Count);
        Assert.InRange(result.Min, 45, 20_000);
    }

    [Fact]
    public static async Task A_test_whose_first_calls_all_fail_ends_early()
    {
        using RpcServer server = Serve(_ => throw new RpcException(RpcStatusCode.Internal, "broken"));
        using RpcClient client = Connect(server);

        RpcLoadResult result = await RunAsync(
            TargetOf(client, Say, new Words()),
            new RpcLoadOptions { Duration = TimeSpan.FromHours(1), Concurrency = 4 });

        Assert.Equal("The first 100 calls all failed.", result.Stopped);
        Assert.InRange(result.Failed, 100, 103);
    }

    [Fact]
    public static async Task More_failures_than_allowed_end_the_test()
    {
        int calls = 0;
        using RpcServer server = Serve(_ =>
        {
            if (Interlocked.Increment(ref calls) > 10)
            {
                throw new RpcException(RpcStatusCode.Internal, "broken");
            }
        });
        using RpcClient client = Connect(server);

        RpcLoadResult result = await RunAsync(
            TargetOf(client, Say, new Words()),
            new RpcLoadOptions { Duration = TimeSpan.FromHours(1), Concurrency = 1, MaxErrors = 3 });

        Assert.Equal("More than 3 calls failed.", result.Stopped);
        Assert.Equal(4, result.Failed);
    }

    [Fact]
    public static async Task Callers_that_wait_for_their_call_to_be_due_make_none_after_too_many_failures()
    {
        int calls = 0;
        using RpcServer server = Serve(_ =>
        {
            if (Interlocked.Increment(ref calls) > 1)
            {
                throw new RpcException(RpcStatusCode.Internal, "broken");
            }
        });
        using RpcClient client = Connect(server);

        RpcLoadResult result = await RunAsync(
            TargetOf(client, Say, new Words()),
            new RpcLoadOptions
            {
                Duration = TimeSpan.FromSeconds(60),
                Concurrency = 5,
                Rate = 1,
                MaxErrors = 0,
            });

        Assert.Equal("More than 0 calls failed.", result.Stopped);
        Assert.Equal(1, result.Failed);
    }

    [Fact]
    public static async Task A_first_call_that_fails_as_all_would_ends_only_its_own_target()
    {
        using TalkServer good = new();
        using RpcServer other = RpcServer.Create(TalkServer.Schema, "talk.Talk")
            .Handle<Words, Words>("Say", (_, request) => request)
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
        using RpcClient ofGood = good.Connect();
        using RpcClient ofOther = RpcClient.Connect(other.Endpoints[0], TalkServer.Schema);

        // Streams do not go over native endpoints.
        RpcMethodInfo split = ofGood.GetMethod("Split");
        IReadOnlyList<RpcLoadResult> results = await new RpcLoadTest(
            [TargetOf(ofOther, split, new Words()), TargetOf(ofGood, split, new Words { Text = "a" })],
            new RpcLoadOptions { Count = 20 }).RunAsync();

        Assert.Equal(RpcStatusCode.Unimplemented, results[0].Error!.Code);
        Assert.Equal(0, results[0].Calls);
        Assert.Null(results[1].Error);
        Assert.Equal(20, results[1].Succeeded);
    }

    [Fact]
    public static async Task A_server_that_is_not_there_is_told_at_once()
    {
        using RpcClient client = RpcClient.Connect(
            EchoServer.NewEndpoint(RpcTransport.Local), TalkServer.Schema,
            new RpcClientOptions { Lazy = true });

        RpcLoadResult result = await RunAsync(
            TargetOf(client, Say, new Words()), new RpcLoadOptions { Duration = TimeSpan.FromHours(1) });

        Assert.Equal(RpcStatusCode.Unavailable, result.Error!.Code);
    }

    [Theory]
    [InlineData("wait", null)]
    [InlineData("", null)]
    [InlineData("", 2.0)]
    public static async Task Cancelling_ends_the_test_at_once_with_what_there_is(string text, double? rate)
    {
        using TalkServer server = new();
        using RpcClient client = server.Connect();
        using CancellationTokenSource stop = new();
        Words word = new() { Text = "first" };
        RpcLoadTest test = new(
            [
                new RpcLoadTarget(client, Say, RpcLoadRequests.InTurn(
                    Say, [[word], .. Enumerable.Repeat<object[]>([new Words { Text = text }], 9)])),
            ],
            new RpcLoadOptions { Duration = TimeSpan.FromHours(1), Rate = rate, Concurrency = 3 });

        Task<IReadOnlyList<RpcLoadResult>> running = test.RunAsync(stop.Token);
        await Eventually.TrueAsync(
            () => text == "wait" ? server.Waiting.Task.IsCompleted : test.Progress.Calls > 1, "calls run");
        long start = Stopwatch.GetTimestamp();
        await stop.CancelAsync();
        RpcLoadResult result = Assert.Single(await running);

        Assert.True(Stopwatch.GetElapsedTime(start) < TimeSpan.FromSeconds(30));
        Assert.Equal("The test was cancelled.", result.Stopped);
        Assert.Equal(0, result.Failed);
        Assert.Null(result.Error);
    }

    [Fact]
    public static async Task A_test_that_was_cancelled_before_it_began_calls_nothing()
    {
        int got = 0;
        using RpcServer server = Serve(_ => Interlocked.Increment(ref got));
        using RpcClient client = Connect(server);

        IReadOnlyList<RpcLoadResult> results = await new RpcLoadTest(
            [TargetOf(client, Say, new Words())], new RpcLoadOptions { Count = 10 })
            .RunAsync(new CancellationToken(canceled: true));

        Assert.Equal((0, 0), (got, results[0].Calls));
    }

    [Fact]
    public static async Task A_client_that_is_closed_meanwhile_ends_the_test()
    {
        using TalkServer server = new();
        RpcClient client = server.Connect();
        RpcLoadTest test = new(
            [TargetOf(client, Say, new Words())], new RpcLoadOptions { Duration = TimeSpan.FromHours(1) });

        Task<IReadOnlyList<RpcLoadResult>> running = test.RunAsync();
        await Eventually.TrueAsync(() => test.Progress.Calls > 10, "calls run");
        client.Dispose();

        await Assert.ThrowsAnyAsync<ObjectDisposedException>(() => running);
    }
}

using ProtoRpc.Http.Tests.Overload;
using static ProtoRpc.Http.Tests.Client.ScriptedAnswers;

namespace ProtoRpc.Http.Tests.Client;

/// <summary>What clients repeat by their policy, and when, if a server or proxy may have run the
/// call.</summary>
public static class RetryPolicyTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    public static TheoryData<string> Schemes { get; } = ["http", "connect", "grpc", "grpcweb"];

    [Theory]
    [MemberData(nameof(Schemes))]
    public static async Task A_503_of_a_proxy_that_says_when_is_repeated_for_idempotent_methods(string scheme)
    {
        foreach (string method in new[] { "Set", "Get" })
        {
            ScriptedAnswers answers = new(() => Proxy(503, ("Retry-After", "0")));

            RpcException error = await CallAsync(scheme, answers, method, new());

            Assert.Equal(
                (4, 4, true, RpcStatusCode.Unavailable),
                (answers.Count, error.Attempts, error.MayHaveExecuted, error.Code));
        }
    }

    [Theory]
    [MemberData(nameof(Schemes))]
    public static async Task Any_other_503_may_have_run_and_is_not_repeated(string scheme)
    {
        ScriptedAnswers unsafeMethod = new(() => Proxy(503, ("Retry-After", "0")));
        ScriptedAnswers withoutTime = new(() => Proxy(503));
        ScriptedAnswers malformed = new(() => Proxy(503, ("Retry-After", "soon")));
        ScriptedAnswers otherStatus = new(() => Proxy(502, ("Retry-After", "0")));

        await CallAsync(scheme, unsafeMethod, "Order", new());
        await CallAsync(scheme, withoutTime, "Get", new());
        await CallAsync(scheme, malformed, "Get", new());
        await CallAsync(scheme, otherStatus, "Get", new());

        Assert.Equal(
            (1, 1, 1, 1), (unsafeMethod.Count, withoutTime.Count, malformed.Count, otherStatus.Count));
    }

    [Theory]
    [MemberData(nameof(Schemes))]
    public static async Task The_caller_can_say_that_a_method_is_idempotent_or_name_the_status(string scheme)
    {
        ScriptedAnswers saidByCaller = new(() => Proxy(503, ("Retry-After", "0")));
        ScriptedAnswers named = new(() => Proxy(503));

        await CallAsync(scheme, saidByCaller, "Order", new() { Idempotent = true });
        await CallAsync(scheme, named, "Order", new() { StatusCodes = [RpcStatusCode.Unavailable] });

        Assert.Equal((4, 4), (saidByCaller.Count, named.Count));
    }

    [Theory]
    [InlineData("61")]
    [InlineData("99999999999999999999")]
    [InlineData("Tue, 31 Dec 2199 23:59:59 GMT")]
    public static async Task A_pause_in_the_far_future_ends_the_call_at_once(string pause)
    {
        ScriptedAnswers foreign = new(() => Proxy(503, ("Retry-After", pause)));
        ScriptedAnswers busy = new(() => Proxy(429, ("Retry-After", pause)));

        await CallAsync("http", foreign, "Get", new());
        await CallAsync("http", busy, "Order", new());

        Assert.Equal((1, 1), (foreign.Count, busy.Count));
    }

    [Fact]
    public static async Task A_pause_that_is_longer_than_the_time_left_ends_the_call_at_once()
    {
        ScriptedAnswers answers = new(
            () => Status(RpcStatusCode.Unavailable, ("grpc-retry-pushback-ms", "9000")));
        using RpcClient client = answers.Connect("grpc", new() { Retry = new() });

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => client.InvokeAsync(
            "Get", new { }, new() { Timeout = TimeSpan.FromSeconds(8) }).WaitAsync(TimeSpan.FromSeconds(7)));

        Assert.Equal((RpcStatusCode.Unavailable, 1), (error.Code, answers.Count));
    }

    [Theory]
    [InlineData("0", 4)]
    [InlineData("1", 4)]
    [InlineData("-1", 1)]
    [InlineData("-2147483649", 1)]
    [InlineData("2147483647", 1)]
    [InlineData("2147483648", 1)]
    [InlineData("1, 1", 1)]
    [InlineData("soon", 1)]
    [InlineData("", 1)]
    public static async Task Pushback_of_gRPC_is_obeyed_also_if_it_is_hostile(string pushback, int attempts)
    {
        foreach (RpcRetryPolicy policy in new RpcRetryPolicy[]
        {
            new() { Idempotent = true }, new() { StatusCodes = [RpcStatusCode.Aborted] },
        })
        {
            ScriptedAnswers answers = new(
                () => Status(RpcStatusCode.Aborted, ("grpc-retry-pushback-ms", pushback)));

            RpcException error = await CallAsync("grpc", answers, "Order", policy);

            Assert.Equal((attempts, attempts), (answers.Count, error.Attempts));
        }
    }

    [Fact]
    public static async Task Many_pushbacks_in_one_reply_ask_for_no_retry()
    {
        ScriptedAnswers answers = new(() => Status(
            RpcStatusCode.Aborted,
            [.. Enumerable.Repeat(("grpc-retry-pushback-ms", "1"), 1000)]));

        await CallAsync("grpc", answers, "Get", new() { StatusCodes = [RpcStatusCode.Aborted] });

        Assert.Equal(1, answers.Count);
    }

    [Fact]
    public static async Task Pushback_behind_a_reply_is_not_believed()
    {
        ScriptedAnswers answers = new(
            () => Reply(RpcStatusCode.Unavailable, ("grpc-retry-pushback-ms", "0")));

        await CallAsync("grpc", answers, "Get", new());

        Assert.Equal(1, answers.Count);
    }

    [Fact]
    public static async Task The_server_receives_how_many_attempts_came_before()
    {
        ScriptedAnswers answers = new(
            () => Status(RpcStatusCode.Unavailable), () => Status(RpcStatusCode.Unavailable), () => Reply());
        using RpcClient client = answers.Connect("grpc", new() { Retry = Named() });
        RpcReplyInfo info = new();

        await client.InvokeAsync("Order", new { }, new() { ReplyInfo = info }).WaitAsync(Patience);

        Assert.Equal(["", "1", "2"], answers.PreviousAttempts);
        Assert.Equal(2, info.Retries);
    }

    [Fact]
    public static async Task What_a_caller_sends_as_attempts_is_kept()
    {
        ScriptedAnswers answers = new(() => Status(RpcStatusCode.Unavailable), () => Reply());
        using RpcClient client = answers.Connect("grpc", new() { Retry = Named() });

        await client.InvokeAsync(
            "Order", new { }, new() { Headers = new() { { "grpc-previous-rpc-attempts", "7" } } });

        Assert.Equal(["7", "7"], answers.PreviousAttempts);
    }

    [Theory]
    [InlineData("grpc")]
    [InlineData("grpcweb")]
    public static async Task A_stream_of_replies_is_repeated_until_its_first_reply(string scheme)
    {
        ScriptedAnswers before = new(() => Status(RpcStatusCode.Unavailable));
        ScriptedAnswers after = new(() => Reply(RpcStatusCode.Unavailable));

        await WatchAsync(scheme, before);
        if (scheme == "grpc")
        {
            await WatchAsync(scheme, after);
            Assert.Equal(1, after.Count);
        }

        Assert.Equal(4, before.Count);
    }

    [Fact]
    public static async Task A_failure_after_an_attempt_that_may_have_run_says_that_the_call_may_have_run()
    {
        ScriptedAnswers answers = new(
            () => Status(RpcStatusCode.Unavailable),
            () => throw new HttpRequestException(
                HttpRequestError.ConnectionError, "refused", new System.Net.Sockets.SocketException(111)));

        RpcException error = await CallAsync("grpc", answers, "Order", Named());

        Assert.Equal((4, 4, true), (answers.Count, error.Attempts, error.MayHaveExecuted));
    }

    [Fact]
    public static async Task A_call_that_is_cancelled_in_a_pause_ends_and_may_have_run()
    {
        using CancellationTokenSource stop = new();
        ScriptedAnswers answers = new(() => Status(RpcStatusCode.Unavailable));
        TimeSpan hour = TimeSpan.FromHours(1);
        using RpcClient client = answers.Connect(
            "grpc", new() { Retry = Named() with { InitialPause = hour, MaxPause = hour } });
        RpcReplyInfo info = new();

        Task call = client.InvokeAsync(
            "Order", new { }, new() { ReplyInfo = info, Timeout = Timeout.InfiniteTimeSpan }, stop.Token);
        await BusyServer.UntilAsync(() => info.Retries == 1, "the pause has begun");
        await stop.CancelAsync();
        RpcException error = await Assert.ThrowsAsync<RpcException>(() => call.WaitAsync(Patience));

        Assert.Equal(
            (RpcStatusCode.Cancelled, 1, true), (error.Code, answers.Count, error.MayHaveExecuted));
    }

    [Fact]
    public static async Task A_server_that_always_fails_gets_few_retries()
    {
        ScriptedAnswers answers = new(() => Status(RpcStatusCode.Unavailable));
        using RpcClient client = answers.Connect("grpc", new() { Retry = Named() with { MaxTokens = 10 } });

        for (int i = 0; i < 20; i++)
        {
            await Assert.ThrowsAsync<RpcException>(
                () => client.InvokeAsync("Order", new { }).WaitAsync(Patience));
        }

        // Three retries of the first call take the budget to 6 of 10 tokens, and the second call to 5.
        Assert.Equal(20 + 3, answers.Count);
    }

    [Fact]
    public static async Task The_budget_fills_when_calls_succeed_again()
    {
        bool fails = true;
        ScriptedAnswers answers = new(() => fails ? Status(RpcStatusCode.Unavailable) : Reply());
        using RpcClient client = answers.Connect(
            "grpc", new() { Retry = Named() with { MaxTokens = 10, TokenRatio = 1 } });
        for (int i = 0; i < 20; i++)
        {
            await Assert.ThrowsAsync<RpcException>(() => client.InvokeAsync("Order", new { }));
        }

        fails = false;
        for (int i = 0; i < 10; i++)
        {
            await client.InvokeAsync("Order", new { });
        }

        fails = true;
        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync("Order", new { }));

        Assert.Equal(4, error.Attempts);
    }

    [Fact]
    public static async Task Attempts_are_in_the_trace()
    {
        List<string> lines = [];
        ScriptedAnswers answers = new(() => Status(RpcStatusCode.Unavailable), () => Reply());
        using RpcClient client = answers.Connect("grpc", new()
        {
            Retry = Named(),
            Trace = RpcTrace.To(entry =>
            {
                lock (lines)
                {
                    lines.Add(entry.Text);
                }
            }),
        });

        await client.InvokeAsync("Order", new { });

        lock (lines)
        {
            Assert.Contains(lines, line => line.StartsWith("attempt 2 in ", StringComparison.Ordinal)
                && line.EndsWith(" ms, after Unavailable", StringComparison.Ordinal));
        }
    }

    private static RpcRetryPolicy Named() => new()
    {
        StatusCodes = [RpcStatusCode.Unavailable],
        InitialPause = TimeSpan.FromMilliseconds(1),
    };

    private static async Task<RpcException> CallAsync(
        string scheme, ScriptedAnswers answers, string method, RpcRetryPolicy policy)
    {
        using RpcClient client = answers.Connect(
            scheme, new() { Retry = policy with { InitialPause = TimeSpan.FromMilliseconds(1) } });
        return await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync(method, new { }).WaitAsync(Patience));
    }

    private static async Task WatchAsync(string scheme, ScriptedAnswers answers)
    {
        using RpcClient client = answers.Connect(scheme, new() { Retry = Named() });
        await using RpcStreamingCall call = client.Open(client.GetMethod("Watch"));
        await call.SendAsync(new { });
        await call.CompleteAsync();
        RpcException error = await Assert.ThrowsAsync<RpcException>(async () =>
        {
            while (await call.ReadAsync().AsTask().WaitAsync(Patience))
            {
            }
        });
        Assert.Equal((RpcStatusCode.Unavailable, answers.Count), (error.Code, error.Attempts));
    }
}

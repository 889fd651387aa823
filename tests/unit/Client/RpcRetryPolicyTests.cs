using System.Globalization;

namespace ProtoRpc.Tests.Client;

/// <summary>The settings of a retry policy: their ranges, their text, and who shares them.</summary>
public static class RpcRetryPolicyTests
{
    public static TheoryData<RpcRetryPolicy, string> Wrong { get; } = new()
    {
        { new() { Count = -1 }, "RpcRetryPolicy.Count is -1; it must be from 0 to 100." },
        { new() { Count = 101 }, "RpcRetryPolicy.Count is 101; it must be from 0 to 100." },
        { new() { InitialPause = TimeSpan.FromTicks(-1) }, "RpcRetryPolicy.InitialPause is -" },
        { new() { MaxPause = TimeSpan.MaxValue }, "RpcRetryPolicy.MaxPause is " },
        { new() { MaxServerPause = Timeout.InfiniteTimeSpan }, "RpcRetryPolicy.MaxServerPause is -" },
        { new() { Multiplier = 0.5 }, "RpcRetryPolicy.Multiplier is 0.5; it must be from 1 to 100." },
        { new() { Multiplier = double.NaN }, "RpcRetryPolicy.Multiplier is NaN" },
        { new() { Jitter = double.PositiveInfinity }, "RpcRetryPolicy.Jitter is Infinity" },
        { new() { MaxTokens = 1001 }, "RpcRetryPolicy.MaxTokens is 1001" },
        { new() { TokenRatio = 0 }, "RpcRetryPolicy.TokenRatio is 0" },
        { new() { StatusCodes = [RpcStatusCode.OK] }, "RpcRetryPolicy.StatusCodes contains OK" },
        { new() { StatusCodes = [(RpcStatusCode)99] }, "RpcRetryPolicy.StatusCodes contains 99" },
    };

    [Theory]
    [MemberData(nameof(Wrong))]
    public static void A_setting_out_of_its_range_is_an_error_of_the_client_and_of_a_call(
        RpcRetryPolicy policy, string text)
    {
        RpcClientOptions options = new() { Service = "calls.Echo", Lazy = true };
        RpcEndpoint endpoint = RpcEndpoint.Parse("inproc://nobody");

        RpcException ofClient = Assert.Throws<RpcException>(
            () => RpcClient.Connect(endpoint, EchoServer.Schema, options with { Retry = policy }));
        Assert.Equal(RpcStatusCode.InvalidArgument, ofClient.Code);
        Assert.StartsWith(text, ofClient.Message, StringComparison.Ordinal);

        if (policy.Count != -1)
        {
            using RpcClient client = RpcClient.Connect(endpoint, EchoServer.Schema, options);
            RpcException ofCall = Assert.Throws<RpcException>(
                () => client.Invoke("Say", new { text = "x" }, new() { Retry = policy }));
            Assert.StartsWith(text, ofCall.Message, StringComparison.Ordinal);
        }
    }

    [Fact]
    public static void The_text_has_what_differs_from_the_defaults()
    {
        CultureInfo before = CultureInfo.CurrentCulture;
        CultureInfo other = (CultureInfo)CultureInfo.InvariantCulture.Clone();
        other.NumberFormat.NumberDecimalSeparator = ",";
        try
        {
            CultureInfo.CurrentCulture = other;

            Assert.Equal("3", $"{new RpcRetryPolicy()}");
            Assert.Equal("7", $"{new RpcRetryPolicy { Count = 7 }}");
            Assert.Equal(
                "Count = 3; StatusCodes = Unavailable, Aborted; InitialPause = 00:00:01; Jitter = 0.5",
                new RpcRetryPolicy
                {
                    StatusCodes = [RpcStatusCode.Unavailable, RpcStatusCode.Aborted],
                    InitialPause = TimeSpan.FromSeconds(1),
                    Jitter = 0.5,
                }.ToString());
        }
        finally
        {
            CultureInfo.CurrentCulture = before;
        }
    }

    [Fact]
    public static void Policies_with_the_same_settings_are_equal()
    {
        RpcRetryPolicy one = new() { StatusCodes = [RpcStatusCode.Aborted] };
        RpcRetryPolicy same = new() { StatusCodes = new List<RpcStatusCode> { RpcStatusCode.Aborted } };

        Assert.Equal(one, same);
        Assert.Equal(one.GetHashCode(), same.GetHashCode());
        Assert.NotEqual(one, same with { Count = 4 });
    }

    [Fact]
    public static void The_number_of_retries_is_the_short_form()
    {
        Assert.Null(new RpcClientOptions().Retry);
        Assert.Null(new RpcClientOptions { RetryCount = 0 }.Retry);
        Assert.Equal(new RpcRetryPolicy { Count = 5 }, new RpcClientOptions { RetryCount = 5 }.Retry);
        Assert.Equal(0, new RpcClientOptions().RetryCount);
        Assert.Equal(3, new RpcClientOptions { Retry = new() }.RetryCount);

        RpcClientOptions both = new() { Retry = new() { Idempotent = true }, RetryCount = 9 };
        Assert.Equal((9, true), (both.Retry!.Count, both.Retry.Idempotent));
    }

    [Theory]
    [InlineData("Unavailable", RpcStatusCode.Unavailable)]
    [InlineData("aborted, RESOURCE_EXHAUSTED", RpcStatusCode.Aborted, RpcStatusCode.ResourceExhausted)]
    public static void Names_of_statuses_are_read(string text, params RpcStatusCode[] codes) =>
        Assert.Equal(codes, RpcRetryPolicy.ReadStatusCodes(text));

    [Theory]
    [InlineData("")]
    [InlineData("14")]
    [InlineData("OK")]
    [InlineData("Unavailable,")]
    [InlineData("Unavailable|Aborted")]
    [InlineData("-1")]
    public static void Other_texts_are_no_statuses(string text) =>
        Assert.Null(RpcRetryPolicy.ReadStatusCodes(text));

    [Fact]
    public static void A_call_of_the_client_says_how_often_it_was_tried()
    {
        RpcEndpoint nobody = EchoServer.NewEndpoint(RpcTransport.Local);
        using RpcClient client = RpcClient.Connect(
            nobody, EchoServer.Schema,
            new() { Lazy = true, Service = "calls.Echo", Retry = Quick(count: 2) });

        RpcCallOptions[] calls =
        [
            new(), new() { RetryCount = 1 }, new() { Retry = Quick(count: 4) },
            new() { Retry = Quick(count: 4), RetryCount = 0 },
        ];
        Assert.Equal([3, 2, 5, 1], calls.Select(options => Assert.Throws<RpcException>(
            () => client.Invoke("Say", new { text = "x" }, options)).Attempts));
    }

    [Fact]
    public static void One_budget_is_shared_by_all_calls_of_a_client()
    {
        ListLogger log = new() { Least = Microsoft.Extensions.Logging.LogLevel.Warning };
        RpcEndpoint nobody = EchoServer.NewEndpoint(RpcTransport.Local);
        RpcClientOptions options = new()
        {
            Lazy = true,
            Service = "calls.Echo",
            Retry = Quick(count: 3) with { MaxTokens = 10 },
            LoggerFactory = log,
        };
        using RpcClient client = RpcClient.Connect(nobody, EchoServer.Schema, options);
        using RpcClient other = RpcClient.Connect(nobody, EchoServer.Schema, options);

        // Retries stop when five of the ten tokens are used, also for calls with a policy of their own.
        Assert.Equal([4, 1, 1], Enumerable.Range(0, 3).Select(i => Assert.Throws<RpcException>(
            () => client.Invoke(
                "Say", new { text = "x" },
                new() { Retry = i == 2 ? Quick(count: 100) with { MaxTokens = 0 } : null })).Attempts));
        Assert.Contains(log.Entries, entry => entry.Text.Contains("budget", StringComparison.Ordinal));
        Assert.Equal(4, Assert.Throws<RpcException>(
            () => other.Invoke("Say", new { text = "x" })).Attempts);
    }

    private static RpcRetryPolicy Quick(int count) => new() { Count = count, InitialPause = TimeSpan.Zero };
}

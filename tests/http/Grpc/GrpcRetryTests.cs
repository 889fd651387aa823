namespace ProtoRpc.Http.Tests.Grpc;

/// <summary>Calls to servers that are not there. Where it matters that a call surely did not run, the
/// connection was not used before: over one that was, a call may go while the server closes it.</summary>
public static class GrpcRetryTests
{
    [Fact]
    public static async Task A_call_to_a_server_that_is_not_there_yet_is_made_again()
    {
        WordsServer first = new();
        string endpoint = first.Endpoint.Uri;
        using RpcClient client = first.Connect(new() { RetryCount = 20 });
        first.Dispose();

        Task<string> call = SayAsync(client);
        using WordsServer second = new(endpoint);

        Assert.Equal("hello", await call.WaitAsync(TimeSpan.FromSeconds(30)));
    }

    [Fact]
    public static async Task Without_being_asked_nothing_is_made_again()
    {
        WordsServer server = new();
        using RpcClient client = server.Connect();
        await SayAsync(client);
        server.Dispose();

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => SayAsync(client));

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
    }

    [Fact]
    public static void A_call_that_ran_is_never_made_again()
    {
        using WordsServer server = new();
        using RpcClient client = server.Connect(new() { RetryCount = 5 });

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke(client.GetMethod("Say"), WordsServer.Text("unavailable")));

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
        Assert.Equal(1, server.Server.Counters.Calls);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(2)]
    public static void The_failure_says_how_many_attempts_there_were(int retries)
    {
        using WordsServer server = new();
        RpcEndpoint gone = server.Endpoint;
        server.Dispose();
        using RpcClient client = RpcClient.Connect(
            gone, WordsServer.Schema,
            new() { Lazy = true, RetryCount = retries, Service = "streams.Words" });

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke(client.GetMethod("Say"), WordsServer.Text("x")));

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
        Assert.Equal(retries + 1, error.Attempts);
    }

    [Fact]
    public static void A_client_of_several_servers_has_all_endpoints()
    {
        using WordsServer one = new();
        using WordsServer two = new();
        using RpcClient client = RpcClient.Connect(
            [one.Endpoint, two.Endpoint], RpcLoadBalancing.RoundRobin, WordsServer.Schema);

        Assert.Equal([one.Endpoint, two.Endpoint], client.Endpoints);
        Assert.Equal(one.Endpoint, client.Endpoint);
    }

    [Fact]
    public static async Task The_deadline_is_one_for_all_tries()
    {
        WordsServer server = new();
        using RpcClient client = server.Connect(
            new() { RetryCount = 100, Limits = new() { CallTimeout = TimeSpan.FromSeconds(0.5) } });
        server.Dispose();
        long start = Environment.TickCount64;

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => SayAsync(client));

        Assert.Contains(error.Code, new[] { RpcStatusCode.Unavailable, RpcStatusCode.DeadlineExceeded });
        Assert.InRange(Environment.TickCount64 - start, 0, 10_000);
    }

    [Fact]
    public static async Task A_stream_of_replies_from_a_server_that_is_not_there_yet_is_asked_for_again()
    {
        WordsServer first = new();
        string endpoint = first.Endpoint.Uri;
        using RpcClient client = first.Connect(new() { RetryCount = 20 });
        first.Dispose();

        Task<List<string>> call = SplitAsync(client, "one two");
        using WordsServer second = new(endpoint);

        Assert.Equal(["one", "two"], await call.WaitAsync(TimeSpan.FromSeconds(30)));
        Assert.Equal(1, second.Server.Counters.Calls);
    }

    [Fact]
    public static async Task A_stream_of_replies_that_began_is_never_asked_for_again()
    {
        using WordsServer server = new();
        using RpcClient client = server.Connect(new() { RetryCount = 5 });

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => SplitAsync(client, "one unavailable"));

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
        Assert.Equal(1, server.Server.Counters.Calls);
    }

    [Fact]
    public static async Task A_stream_of_requests_is_sent_once()
    {
        WordsServer server = new();
        using RpcClient client = server.Connect(new() { RetryCount = 100 });
        server.Dispose();
        await using RpcStreamingCall call = client.Open(client.GetMethod("Join"));
        await call.SendAsync(WordsServer.Text("x"));

        RpcException error = await Assert.ThrowsAsync<RpcException>(async () => await call.ReadAsync());

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
        Assert.False(error.MayHaveExecuted);
    }

    private static async Task<List<string>> SplitAsync(RpcClient client, string text)
    {
        List<string> words = [];
        await using RpcStreamingCall call = client.Open(client.GetMethod("Split"));
        await call.SendAsync(WordsServer.Text(text));
        await call.CompleteAsync();
        while (await call.ReadAsync())
        {
            words.Add(WordsServer.TextOf(call.Current));
        }

        return words;
    }

    private static async Task<string> SayAsync(RpcClient client) =>
        WordsServer.TextOf(await client.InvokeAsync(client.GetMethod("Say"), WordsServer.Text("hello")));
}

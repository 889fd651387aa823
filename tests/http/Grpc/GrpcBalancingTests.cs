using ProtoRpc.Calls;

namespace ProtoRpc.Http.Tests.Grpc;

/// <summary>Streams of one client over several servers.</summary>
public static class GrpcBalancingTests
{
    [Fact]
    public static async Task A_stream_of_replies_comes_from_a_server_that_is_there()
    {
        using WordsServer staying = new();
        WordsServer leaving = new();
        using RpcClient client = await ConnectAsync(leaving, staying);
        leaving.Dispose();

        for (int i = 0; i < 4; i++)
        {
            Assert.Equal(["one", "two"], await SplitAsync(client));
        }
    }

    [Fact]
    public static async Task A_stream_of_requests_that_finds_nobody_is_told_and_the_next_one_goes_elsewhere()
    {
        using WordsServer staying = new();
        WordsServer leaving = new();
        using RpcClient client = await ConnectAsync(leaving, staying);
        leaving.Dispose();
        List<RpcException> failures = [];

        for (int i = 0; i < 4; i++)
        {
            try
            {
                Assert.Equal("x", await JoinAsync(client));
            }
            catch (RpcException e)
            {
                failures.Add(e);
            }
        }

        RpcException failure = Assert.Single(failures);
        Assert.Equal(RpcStatusCode.Unavailable, failure.Code);
        Assert.False(failure.MayHaveExecuted);
    }

    [Fact]
    public static async Task That_nobody_is_there_is_told_with_the_reason_of_each()
    {
        WordsServer first = new();
        WordsServer second = new();
        using RpcClient client = await ConnectAsync(first, second);
        first.Dispose();
        second.Dispose();

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => SplitAsync(client));

        Assert.Equal("NoServerReached", error.ErrorId);
        Assert.Contains(first.Endpoint.ToString(), error.Message, StringComparison.Ordinal);
        Assert.Contains(second.Endpoint.ToString(), error.Message, StringComparison.Ordinal);
    }

    // With a connection to each of them.
    private static async Task<RpcClient> ConnectAsync(params WordsServer[] servers)
    {
        RpcClient client = RpcClient.Connect(
            [.. servers.Select(server => server.Endpoint)], RpcLoadBalancing.RoundRobin, WordsServer.Schema,
            new RpcClientOptions { Service = "streams.Words" });
        foreach (WordsServer server in servers)
        {
            await client.InvokeAsync(client.GetMethod("Say"), WordsServer.Text("x"));
        }

        return client;
    }

    private static async Task<List<string>> SplitAsync(RpcClient client)
    {
        List<string> words = [];
        await using RpcStreamingCall call = client.Open(client.GetMethod("Split"));
        await call.SendAsync(WordsServer.Text("one two"));
        while (await call.ReadAsync())
        {
            words.Add(WordsServer.TextOf(call.Current));
        }

        return words;
    }

    private static async Task<string> JoinAsync(RpcClient client)
    {
        await using RpcStreamingCall call = client.Open(client.GetMethod("Join"));
        await call.SendAsync(WordsServer.Text("x"));
        await call.CompleteAsync();
        Assert.True(await call.ReadAsync());
        return WordsServer.TextOf(call.Current);
    }
}

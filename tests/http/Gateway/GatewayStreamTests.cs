using System.Diagnostics;
using System.Net;
using System.Text;

namespace ProtoRpc.Http.Tests.Gateway;

/// <summary>Streams that pass a gateway.</summary>
public static class GatewayStreamTests
{
    private const string Http = GatewayChain.Http;
    private const string Grpc = GatewayChain.Grpc;
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    public static TheoryData<string, string> Full => GatewayChain.Pairs(Grpc, "inproc");

    public static TheoryData<string, string> Replies => GatewayChain.Pairs(Http, Grpc, "inproc");

    [Theory]
    [MemberData(nameof(Full))]
    public static async Task Methods_of_all_kinds_pass(string front, string back)
    {
        using GatewayChain chain = new(front, back);

        Assert.Equal("a b", await JoinAsync(chain, "Split", "a b"));
        Assert.Equal("a b c", await JoinAsync(chain, "Join", "a", "b", "c"));
        Assert.Equal("a! b!", await JoinAsync(chain, "Chat", "a", "b"));
        Assert.Equal("a!", await JoinAsync(chain, "Chat", "a", "bye", "late"));
    }

    [Theory]
    [MemberData(nameof(Full))]
    public static async Task Both_sides_talk_while_the_call_goes_on(string front, string back)
    {
        using GatewayChain chain = new(front, back);
        await using RpcStreamingCall call = chain.Caller.Open("Chat");

        foreach (string word in new[] { "a", "b", "c" })
        {
            Assert.True(await call.SendAsync(WordsServer.Text(word)));
            Assert.True(await call.ReadAsync().AsTask().WaitAsync(Patience));
            Assert.Equal($"{word}!", WordsServer.TextOf(call.Current));
        }

        await call.CompleteAsync();
        Assert.False(await call.ReadAsync().AsTask().WaitAsync(Patience));
    }

    [Theory]
    [MemberData(nameof(Replies))]
    public static async Task Replies_stream_on_with_headers_and_a_failure_in_the_middle(
        string front, string back)
    {
        using GatewayChain chain = new(front, back);
        RpcReplyInfo info = new();
        List<string> replies = [];

        RpcException error = await Assert.ThrowsAsync<RpcException>(async () =>
        {
            await foreach (DynamicMessage reply in chain.Caller.InvokeServerStreamAsync(
                "Split", WordsServer.Text("header a b fail c"), new() { ReplyInfo = info }))
            {
                replies.Add(WordsServer.TextOf(reply));
            }
        });

        Assert.Equal(["a", "b"], replies);
        Assert.Equal(RpcStatusCode.Aborted, error.Code);
        Assert.Equal("in the middle", error.Message);
        Assert.Equal("there", info.Headers.GetText("x-first"));
    }

    [Theory]
    [MemberData(nameof(Replies))]
    public static async Task A_caller_that_leaves_in_the_middle_cancels_the_call(string front, string back)
    {
        using GatewayChain chain = new(front, back);

        await foreach (DynamicMessage _ in chain.Caller.InvokeServerStreamAsync(
            "Split", WordsServer.Text("a wait")))
        {
            await chain.Server.Waiting.Task.WaitAsync(Patience);
            break;
        }

        Assert.Equal("cancelled", await chain.Server.Ended.Task.WaitAsync(Patience));
    }

    [Theory]
    [MemberData(nameof(Replies))]
    public static async Task A_deadline_ends_a_stream_on_both_sides(string front, string back)
    {
        using GatewayChain chain = new(front, back);

        RpcException error = await Assert.ThrowsAsync<RpcException>(async () =>
        {
            await foreach (DynamicMessage _ in chain.Caller.InvokeServerStreamAsync(
                "Split", WordsServer.Text("a wait"), new() { Timeout = TimeSpan.FromMilliseconds(500) }))
            {
            }
        });

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        Assert.Equal("cancelled", await chain.Server.Ended.Task.WaitAsync(Patience));
    }

    [Theory]
    [MemberData(nameof(Full))]
    public static async Task A_server_that_vanishes_fails_the_stream(string front, string back)
    {
        using GatewayChain chain = new(front, back);
        await using RpcStreamingCall call = chain.Caller.Open("Chat");
        await call.SendAsync(WordsServer.Text("a"));
        Assert.True(await call.ReadAsync().AsTask().WaitAsync(Patience));

        await chain.Server.Server.StopAsync(TimeSpan.Zero);

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => call.ReadAsync().AsTask().WaitAsync(Patience));
        Assert.NotEqual(RpcStatusCode.OK, error.Code);
    }

    [Fact]
    public static async Task A_caller_that_reads_slowly_holds_up_the_server()
    {
        long written = 0;
        using RpcServer server = RpcServer.Create(
                WordsServer.Schema, "streams.Words", new RpcServerOptions().WithHttp())
            .HandleStreaming("Split", async (_, stream) =>
            {
                for (int i = 0; i < 1000; i++)
                {
                    await stream.WriteAsync(WordsServer.Payload(100_000));
                    Interlocked.Increment(ref written);
                }
            })
            .AddEndpoint(Grpc)
            .StartListening();
        using RpcClient client = RpcClient.Connect(server.Endpoints[0], WordsServer.Schema);
        using RpcServer gateway = RpcGateway.Create(client, serverOptions: new RpcServerOptions().WithHttp())
            .AddEndpoint(Grpc).StartListening();
        using RpcClient caller = RpcClient.Connect(
            gateway.Endpoints[0], WordsServer.Schema, new() { Service = "streams.Words" });
        await using RpcStreamingCall call = caller.Open("Split");
        await call.SendAsync(WordsServer.Text("x"));
        Assert.True(await call.ReadAsync());

        // Until nothing more is written: the windows of two connections and what lies in the gateway.
        long before;
        Stopwatch still = Stopwatch.StartNew();
        do
        {
            before = Interlocked.Read(ref written);
            await Task.Delay(200);
        }
        while (Interlocked.Read(ref written) != before && still.Elapsed < Patience);

        Assert.InRange(before, 1, 500);
        int count = 1;
        while (await call.ReadAsync())
        {
            count++;
        }

        Assert.Equal(1000, count);
    }

    [Fact]
    public static async Task A_request_over_the_limit_ends_the_stream_with_its_reason()
    {
        using GatewayChain chain = new(
            Grpc, Grpc, serverOptions: new() { Limits = RpcLimits.Default with { MaxMessageBytes = 1000 } });
        await using RpcStreamingCall call = chain.Caller.Open("Join");
        await call.SendAsync(WordsServer.Text("small"));
        await call.SendAsync(WordsServer.Payload(2000));
        await call.CompleteAsync();

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => call.ReadAsync().AsTask().WaitAsync(Patience));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
    }

    [Fact]
    public static async Task Callers_of_json_get_lines()
    {
        using GatewayChain chain = new(Http, Grpc);
        using HttpClient http = new();
        using StringContent content = new("{\"text\":\"a b\"}", Encoding.UTF8, "application/json");

        using HttpResponseMessage response = await http.PostAsync(
            new Uri($"{chain.Gateway.Endpoints[0]}streams.Words/Split"), content);

        Assert.Equal(HttpStatusCode.OK, response.StatusCode);
        Assert.Equal("{\"text\":\"a\"}\n{\"text\":\"b\"}\n", await response.Content.ReadAsStringAsync());
    }

    private static async Task<string> JoinAsync(GatewayChain chain, string method, params string[] requests)
    {
        List<string> replies = [];
        await foreach (DynamicMessage reply in chain.Caller.InvokeDuplexStreamAsync(
            method, requests.Select(text => (object)WordsServer.Text(text)).ToAsyncEnumerable())
            .WithCancellation(new CancellationTokenSource(Patience).Token))
        {
            replies.Add(WordsServer.TextOf(reply));
        }

        return string.Join(' ', replies);
    }
}

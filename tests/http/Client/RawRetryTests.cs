using System.Text;
using Google.Protobuf;

namespace ProtoRpc.Http.Tests.Client;

/// <summary>Retries over real sockets: a raw server of HTTP/1.1, and our listeners.</summary>
public static class RawRetryTests
{
    private const string Later = "HTTP/1.1 503 Later\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n";
    private const string Reply =
        "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n";

    [Fact]
    public static async Task A_server_that_says_later_twice_and_then_replies_is_asked_three_times()
    {
        await using RawServer server = new(Later, Later, Reply);
        using RpcClient client = server.Connect(new());
        RpcReplyInfo info = new();

        await client.InvokeAsync("Get", new { }, new() { ReplyInfo = info, Timeout = Seconds(20) });

        Assert.Equal((3, 2), (server.Requests, info.Retries));
    }

    [Fact]
    public static async Task A_call_whose_connection_breaks_is_repeated_if_the_policy_names_Unavailable()
    {
        await using RawServer server = new("", "", Reply);
        using RpcClient client = server.Connect(new() { StatusCodes = [RpcStatusCode.Unavailable] });

        await client.InvokeAsync("Order", new { }, new() { Timeout = Seconds(20) });

        Assert.Equal(3, server.Requests);
    }

    [Fact]
    public static async Task A_date_is_obeyed()
    {
        string date = DateTimeOffset.UtcNow.AddSeconds(-5).ToString("r");
        await using RawServer server = new(
            $"HTTP/1.1 503 Later\r\nDate: {date}\r\nRetry-After: {date}\r\nContent-Length: 0\r\n\r\n", Reply);
        using RpcClient client = server.Connect(new());

        await client.InvokeAsync("Get", new { }, new() { Timeout = Seconds(20) });

        Assert.Equal(2, server.Requests);
    }

    [Theory]
    [InlineData("Say")]
    [InlineData("Split")]
    public static async Task A_handler_of_a_gRPC_listener_says_when_and_sees_the_attempts(string method)
    {
        List<string?> attempts = [];
        void Begin(RpcServerCallContext context)
        {
            attempts.Add(context.RequestHeaders.GetText("grpc-previous-rpc-attempts"));
            if (attempts.Count < 3)
            {
                context.ReplyTrailers.Add("grpc-retry-pushback-ms", "1");
                throw new RpcException(RpcStatusCode.Unavailable, "not now");
            }
        }

        using RpcServer server = RpcServer
            .Create(WordsServer.Schema, "streams.Words", new RpcServerOptions().WithHttp())
            .Handle("Say", (context, request) =>
            {
                Begin(context);
                return ValueTask.FromResult(request);
            })
            .HandleStreaming("Split", async (context, stream) =>
            {
                IMessage request = (await stream.ReadAsync())!;
                Begin(context);
                await stream.WriteAsync(request);
            })
            .AddEndpoint("grpc://127.0.0.1:0")
            .StartListening();
        using RpcClient client = RpcClient.Connect(
            server.Endpoints[0], WordsServer.Schema,
            new()
            {
                Service = "streams.Words",
                // Without the pushback, the second attempt would come after ten minutes.
                Retry = new()
                {
                    StatusCodes = [RpcStatusCode.Unavailable],
                    InitialPause = TimeSpan.FromMinutes(10),
                    MaxPause = TimeSpan.FromMinutes(10),
                },
            });

        await using RpcStreamingCall call = client.Open(
            client.GetMethod(method), new() { Timeout = TimeSpan.FromMinutes(1) });
        await call.SendAsync(WordsServer.Text("hi"));
        await call.CompleteAsync();

        Assert.True(await call.ReadAsync());
        Assert.Equal("hi", WordsServer.TextOf(call.Current));
        Assert.Equal([null, "1", "2"], attempts);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(5)]
    public static async Task A_call_whose_connection_breaks_is_not_repeated_otherwise(int count)
    {
        await using RawServer server = new("", "", Reply);
        using RpcClient client = server.Connect(new() { Idempotent = true, Count = count });

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync("Order", new { }, new() { Timeout = Seconds(20) }));

        Assert.Equal((1, 1), (server.Requests, error.Attempts));
        Assert.True(error.MayHaveExecuted);
    }

    private static TimeSpan Seconds(double seconds) => TimeSpan.FromSeconds(seconds);

    /// <summary>Answers each call with the next text and closes the connection; an empty text closes it
    /// without an answer.</summary>
    private sealed class RawServer : IAsyncDisposable
    {
        private readonly string[] _answers;
        private readonly BarePeer _peer;
        private int _requests;

        public RawServer(params string[] answers)
        {
            _answers = answers;
            _peer = new BarePeer(AnswerAsync);
        }

        public int Requests => Volatile.Read(ref _requests);

        public RpcClient Connect(RpcRetryPolicy policy) => RpcClient.Connect(
            $"http://127.0.0.1:{_peer.Port}/", ScriptedAnswers.Schema,
            new()
            {
                Lazy = true,
                Service = "retries.Stock",
                Retry = policy with { InitialPause = TimeSpan.FromMilliseconds(1) },
            });

        public ValueTask DisposeAsync() => _peer.DisposeAsync();

        private async Task AnswerAsync(Stream stream)
        {
            byte[] buffer = new byte[4096];
            string request = "";
            while (!request.Contains("\r\n\r\n", StringComparison.Ordinal))
            {
                int count = await stream.ReadAsync(buffer);
                if (count == 0)
                {
                    return;
                }

                request += Encoding.ASCII.GetString(buffer, 0, count);
            }

            if (!request.StartsWith("POST ", StringComparison.Ordinal))
            {
                // Not a call: a client asks a server that answers no call for its protocol.
                return;
            }

            int number = Interlocked.Increment(ref _requests) - 1;
            string answer = _answers[Math.Min(number, _answers.Length - 1)];
            await stream.WriteAsync(Encoding.ASCII.GetBytes(
                answer.Replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n", StringComparison.Ordinal)));
        }
    }
}

using System.Collections.Concurrent;
using Grpc.Core;
using Grpc.Net.Client;
using Grpc.Net.Client.Configuration;
using ProtoRpc.Http.Tests.Streams;
using GrpcException = Grpc.Core.RpcException;

namespace ProtoRpc.Peers;

/// <summary>Grpc.Net.Client repeats calls to our listener by its ServiceConfig.</summary>
[PeerCall("Grpc.Net.Client", "gRPC", PeerSide.Client, PeerCalls.Unary | PeerCalls.Retries)]
public sealed class GrpcNetRetryTests : IDisposable
{
    private readonly ConcurrentQueue<string?> _attempts = new();
    private RpcServer? _server;

    public void Dispose() => _server?.Dispose();

    [Fact]
    public async Task A_call_that_fails_is_made_again()
    {
        using GrpcChannel channel = Open(failures: 2, pushback: null, Retry());

        Text reply = await new Words.WordsClient(channel).SayAsync(new Text { Text_ = "hi" });

        Assert.Equal("hi", reply.Text_);
        Assert.Equal([null, "1", "2"], _attempts);
    }

    [Fact]
    public async Task Pushback_in_our_trailers_says_when()
    {
        // Without the pushback, the second attempt would come after a minute.
        using GrpcChannel channel = Open(failures: 1, pushback: "1", Retry(TimeSpan.FromMinutes(10)));

        Text reply = await Patience.WaitAsync(
            new Words.WordsClient(channel).SayAsync(new Text { Text_ = "hi" }).ResponseAsync);

        Assert.Equal("hi", reply.Text_);
        Assert.Equal([null, "1"], _attempts);
    }

    [Fact]
    public async Task Negative_pushback_in_our_trailers_stops_it()
    {
        using GrpcChannel channel = Open(failures: 1, pushback: "-1", Retry());

        GrpcException error = await Assert.ThrowsAsync<GrpcException>(
            async () => await new Words.WordsClient(channel).SayAsync(new Text { Text_ = "hi" }));

        Assert.Equal(StatusCode.Unavailable, error.StatusCode);
        Assert.Equal([null], _attempts);
    }

    [Fact]
    public async Task A_hedged_call_takes_the_first_reply_and_cancels_the_others()
    {
        TaskCompletionSource cancelled = new(TaskCreationOptions.RunContinuationsAsynchronously);
        using GrpcChannel channel = Open(
            async (context, request) =>
            {
                if (context.RequestHeaders.GetText("grpc-previous-rpc-attempts") == "1")
                {
                    return request;
                }

                try
                {
                    await Task.Delay(Timeout.Infinite, context.CancellationToken);
                }
                finally
                {
                    cancelled.TrySetResult();
                }

                return request;
            },
            new MethodConfig
            {
                Names = { MethodName.Default },
                HedgingPolicy = new HedgingPolicy
                {
                    MaxAttempts = 2,
                    HedgingDelay = TimeSpan.FromMilliseconds(50),
                },
            });

        Text reply = await Patience.WaitAsync(
            new Words.WordsClient(channel).SayAsync(new Text { Text_ = "hi" }).ResponseAsync);

        Assert.Equal("hi", reply.Text_);
        await Patience.WaitAsync(cancelled.Task);
        Assert.Equal([null, "1"], _attempts.Order());
    }

    private static MethodConfig Retry(TimeSpan? backoff = null) => new()
    {
        Names = { MethodName.Default },
        RetryPolicy = new RetryPolicy
        {
            MaxAttempts = 3,
            InitialBackoff = backoff ?? TimeSpan.FromMilliseconds(1),
            MaxBackoff = backoff ?? TimeSpan.FromMilliseconds(1),
            BackoffMultiplier = 1,
            RetryableStatusCodes = { StatusCode.Unavailable },
        },
    };

    // The first calls fail, the next one is answered.
    private GrpcChannel Open(int failures, string? pushback, MethodConfig config) => Open(
        (context, request) =>
        {
            if (_attempts.Count > failures)
            {
                return ValueTask.FromResult(request);
            }

            if (pushback is not null)
            {
                context.ReplyTrailers.Add("grpc-retry-pushback-ms", pushback);
            }

            throw new RpcException(RpcStatusCode.Unavailable, "not now");
        },
        config);

    private GrpcChannel Open(RpcHandler say, MethodConfig config)
    {
        _server = RpcServer.Create(WordsServer.Schema, "streams.Words", new RpcServerOptions().WithHttp())
            .Handle("Say", (context, request) =>
            {
                _attempts.Enqueue(context.RequestHeaders.GetText("grpc-previous-rpc-attempts"));
                return say(context, request);
            })
            .AddEndpoint("grpc://127.0.0.1:0")
            .StartListening();
        return GrpcNetClient.Open(_server.Endpoints[0], new()
        {
            ServiceConfig = new ServiceConfig { MethodConfigs = { config } },
        });
    }
}

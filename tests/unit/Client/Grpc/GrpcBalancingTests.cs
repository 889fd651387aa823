using Google.Protobuf;
using ProtoRpc.Protocols.Grpc.Proto;

namespace ProtoRpc.Tests.Client.Grpc;

/// <summary>Streams of one client over servers of which some refuse every call, a refused call made again,
/// and calls that are not.</summary>
public static class GrpcBalancingTests
{
    private const uint RefusedStream = 0x7;

    [Fact]
    public static async Task A_stream_of_replies_comes_from_a_server_that_takes_the_call()
    {
        await using Http2Peer refusing = Refusing();
        await using Http2Peer answering = Answering();
        using RpcClient client = Connect(HealthReflection.Descriptor, refusing, answering);

        for (int i = 0; i < 4; i++)
        {
            Assert.Equal(1, await CountAsync(client, "Watch", new HealthCheckRequest()));
        }
    }

    [Fact]
    public static async Task A_stream_of_requests_that_is_refused_is_told_and_the_next_one_goes_elsewhere()
    {
        await using Http2Peer refusing = Refusing();
        await using Http2Peer answering = Answering();

        // Connecting was the turn of the first.
        using RpcClient client = Connect(ReflectionReflection.Descriptor, answering, refusing);

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => CountAsync(client, "ServerReflectionInfo", new ServerReflectionRequest()));

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
        Assert.False(error.MayHaveExecuted);
        Assert.Equal(1, await CountAsync(client, "ServerReflectionInfo", new ServerReflectionRequest()));
        Assert.Equal(1, await CountAsync(client, "ServerReflectionInfo", new ServerReflectionRequest()));
    }

    [Fact]
    public static async Task That_nobody_takes_a_stream_is_told_with_the_reason_of_each()
    {
        await using Http2Peer first = Refusing();
        await using Http2Peer second = Refusing();
        using RpcClient client = Connect(HealthReflection.Descriptor, first, second);

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => CountAsync(client, "Watch", new HealthCheckRequest()));

        Assert.Equal("NoServerReached", error.ErrorId);
        Assert.Contains(first.Endpoint.ToString(), error.Message, StringComparison.Ordinal);
        Assert.Contains(second.Endpoint.ToString(), error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_stream_of_replies_that_is_refused_is_asked_for_again_as_often_as_wanted()
    {
        // More often than the HTTP client tries by itself.
        int refusals = 10;
        await using Http2Peer peer = new((p, stream) =>
            refusals-- > 0 ? p.ResetAsync(stream, RefusedStream) : AnswerAsync(p, stream));
        using RpcClient client = RpcClient.Connect(
            peer.Endpoint, RpcSchema.FromDescriptors(HealthReflection.Descriptor),
            new RpcClientOptions { RetryCount = 10 });

        Assert.Equal(1, await CountAsync(client, "Watch", new HealthCheckRequest()));
    }

    [Fact]
    public static async Task A_call_that_is_refused_after_its_reply_began_is_not_made_again()
    {
        int calls = 0;
        await using Http2Peer peer = new(async (p, stream) =>
        {
            Interlocked.Increment(ref calls);
            await p.SendGoodHeadersAsync(stream);
            await p.SendDataAsync(stream, [0, 0, 0, 0, 0]);
            await p.ResetAsync(stream, RefusedStream);
        });
        using RpcClient client = RpcClient.Connect(
            peer.Endpoint, RpcSchema.FromDescriptors(HealthReflection.Descriptor),
            new RpcClientOptions { RetryCount = 3 });

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke(client.GetMethod("Check"), new HealthCheckRequest()));

        Assert.True(error.MayHaveExecuted);
        Assert.Equal(1, calls);
    }

    [Fact]
    public static async Task A_call_that_is_disposed_of_while_it_is_read_ends_as_cancelled()
    {
        TaskCompletionSource came = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using Http2Peer peer = new((_, _) =>
        {
            came.TrySetResult();
            return Task.CompletedTask;
        });
        using RpcClient client = RpcClient.Connect(
            peer.Endpoint, RpcSchema.FromDescriptors(HealthReflection.Descriptor));
        RpcStreamingCall call = client.Open(
            client.GetMethod("Watch"), new RpcCallOptions { Timeout = TimeSpan.FromMinutes(1) });
        await call.SendAsync(new HealthCheckRequest());
        Task reading = call.ReadAsync().AsTask();
        await came.Task.WaitAsync(TimeSpan.FromSeconds(20));

        await call.DisposeAsync();

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => reading.WaitAsync(TimeSpan.FromSeconds(20)));
        Assert.Equal(RpcStatusCode.Cancelled, error.Code);
    }

    private static Http2Peer Refusing() => new((p, stream) => p.ResetAsync(stream, RefusedStream));

    private static Http2Peer Answering() => new(AnswerAsync);

    private static async Task AnswerAsync(Http2PeerConnection peer, int stream)
    {
        await peer.SendGoodHeadersAsync(stream);
        await peer.SendDataAsync(stream, [0, 0, 0, 0, 0]);
        await peer.SendHeadersAsync(stream, end: true, ("grpc-status", "0"));
    }

    private static RpcClient Connect(
        Google.Protobuf.Reflection.FileDescriptor file, params Http2Peer[] peers) => RpcClient.Connect(
            [.. peers.Select(peer => peer.Endpoint)], RpcLoadBalancing.RoundRobin,
            RpcSchema.FromDescriptors(file));

    private static async Task<int> CountAsync(RpcClient client, string method, IMessage request)
    {
        int count = 0;
        await using RpcStreamingCall call = client.Open(client.GetMethod(method));
        await call.SendAsync(request);
        await call.CompleteAsync();
        while (await call.ReadAsync())
        {
            count++;
        }

        return count;
    }
}

using System.Net;
using System.Net.Sockets;
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
    public static async Task The_error_of_a_stream_names_the_server_of_the_call()
    {
        await using Http2Peer first = Refusing(0x2);
        await using Http2Peer second = Refusing(0x2);
        using RpcClient client = Connect(HealthReflection.Descriptor, first, second);
        HashSet<RpcEndpoint?> failed = [];

        for (int i = 0; i < 2; i++)
        {
            RpcException error = await Assert.ThrowsAsync<RpcException>(
                () => CountAsync(client, "Watch", new HealthCheckRequest()));
            failed.Add(error.Endpoint);
        }

        Assert.Equal(new HashSet<RpcEndpoint?> { first.Endpoint, second.Endpoint }, failed);
    }

    [Fact]
    public static async Task Servers_that_take_connections_and_say_nothing_leave_time_for_the_next_one()
    {
        using SilentServer first = new();
        using SilentServer second = new();
        await using Http2Peer answering = Answering();
        using RpcClient client = RpcClient.Connect(
            [first.Endpoint, second.Endpoint, answering.Endpoint], RpcLoadBalancing.RoundRobin,
            RpcSchema.FromDescriptors(HealthReflection.Descriptor),
            new() { Lazy = true, Limits = new() { CallTimeout = TimeSpan.FromSeconds(6) } });
        RpcReplyInfo info = new();

        for (int i = 0; i < 3; i++)
        {
            await client.InvokeAsync<HealthCheckResponse>(
                "Check", new HealthCheckRequest(), new() { ReplyInfo = info });
            Assert.Equal(answering.Endpoint, info.Endpoint);
        }
    }

    [Theory]
    [InlineData("Check")]
    [InlineData("Watch")]
    public static async Task A_call_to_a_server_that_says_nothing_has_not_run(string method)
    {
        using SilentServer server = new();
        using RpcClient client = RpcClient.Connect(
            server.Endpoint, RpcSchema.FromDescriptors(HealthReflection.Descriptor), new() { Lazy = true });

        RpcException error = await Assert.ThrowsAsync<RpcException>(async () =>
        {
            await foreach (DynamicMessage _ in client.InvokeServerStreamAsync(
                method, new HealthCheckRequest(), new() { Timeout = TimeSpan.FromSeconds(1.2) }))
            {
            }
        });

        Assert.Equal("ConnectTimeout", error.ErrorId);
        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        Assert.False(error.MayHaveExecuted);
        Assert.Contains("sent nothing for 1.2 s; the call did not run", error.Message);
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

    private static Http2Peer Refusing(uint code = RefusedStream) =>
        new((p, stream) => p.ResetAsync(stream, code));

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

    /// <summary>Accepts connections and says nothing.</summary>
    private sealed class SilentServer : IDisposable
    {
        private readonly TcpListener _listener = new(IPAddress.Loopback, 0);

        public SilentServer() => _listener.Start();

        public RpcEndpoint Endpoint =>
            RpcEndpoint.Parse($"grpc://127.0.0.1:{((IPEndPoint)_listener.LocalEndpoint).Port}");

        public void Dispose() => _listener.Dispose();
    }
}

using ProtoRpc.Client.Grpc;
using ProtoRpc.Protocols.Grpc.Proto;
using ProtoRpc.Transports;

namespace ProtoRpc.Tests.Client.Grpc;

/// <summary>Servers that reset calls or say goodbye in the middle of them.</summary>
public static class GrpcConnectionTests
{
    private static readonly RpcSchema Schema = RpcSchema.FromDescriptors(HealthReflection.Descriptor);
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    /// <summary>Statuses by the mapping of the protocol's description.</summary>
    public static TheoryData<uint, RpcStatusCode> ResetCodes => new()
    {
        { 0x0, RpcStatusCode.Internal },
        { 0x1, RpcStatusCode.Internal },
        { 0x2, RpcStatusCode.Internal },
        { 0x3, RpcStatusCode.Internal },
        { 0x4, RpcStatusCode.Internal },
        { 0x6, RpcStatusCode.Internal },
        { 0x7, RpcStatusCode.Unavailable },
        { 0x8, RpcStatusCode.Cancelled },
        { 0x9, RpcStatusCode.Internal },
        { 0xa, RpcStatusCode.Internal },
        { 0xb, RpcStatusCode.ResourceExhausted },
        { 0xc, RpcStatusCode.PermissionDenied },
    };

    [Theory]
    [MemberData(nameof(ResetCodes))]
    public static async Task A_reset_before_the_reply_is_a_status(uint code, RpcStatusCode wanted)
    {
        await using Http2Peer peer = new((p, stream) => p.ResetAsync(stream, code));

        RpcException error = Assert.Throws<RpcException>(() => Call(peer));

        CheckReset(error, code, wanted, mayHaveExecuted: code != 0x7);
    }

    [Theory]
    [MemberData(nameof(ResetCodes))]
    public static async Task A_reset_in_the_middle_of_a_reply_is_a_status(uint code, RpcStatusCode wanted)
    {
        await using Http2Peer peer = new(async (p, stream) =>
        {
            await p.SendGoodHeadersAsync(stream);
            await p.SendDataAsync(stream, [0, 0, 0]);
            await p.ResetAsync(stream, code);
        });

        RpcException error = Assert.Throws<RpcException>(() => Call(peer));

        CheckReset(error, code, wanted, mayHaveExecuted: true);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public static async Task A_deadline_that_ends_while_DNS_does_not_answer_names_DNS(bool isStream)
    {
        using ManualResetEventSlim answer = new();
        using GrpcChannel channel = new(RpcEndpoint.Parse("grpc://slow.example:9"), new RpcClientOptions())
        {
            LookUp = _ =>
            {
                answer.Wait(Patience);
                return [];
            },
        };
        CallClock clock = CallClock.Start(TimeSpan.FromMilliseconds(300));
        await using GrpcCall call = new(
            channel, "grpc.health.v1.Health/Check", clock, options: null,
            isStream ? null : new HealthCheckRequest(), isStream);

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => call.ReadAsync().AsTask());

        answer.Set();
        Assert.Equal((RpcStatusCode.DeadlineExceeded, false), (error.Code, error.MayHaveExecuted));
        Assert.Contains("DNS did not resolve the host name 'slow.example' within 0.3 s", error.Message);
    }

    [Fact]
    public static async Task A_call_that_is_refused_once_is_made_again()
    {
        int calls = 0;
        await using Http2Peer peer = new((p, stream) =>
            ++calls == 1 ? p.ResetAsync(stream, 0x7) : AnswerAsync(p, stream));

        HealthCheckResponse reply = Call(peer);

        Assert.Equal(HealthCheckResponse.Types.ServingStatus.Serving, reply.Status);
        Assert.Equal(2, calls);
    }

    [Fact]
    public static async Task A_stream_goes_on_after_a_goodbye_while_new_calls_take_a_new_connection()
    {
        TaskCompletionSource goOn = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Task? rest = null;
        await using Http2Peer peer = new(async (p, stream) =>
        {
            if (p.Number == 2)
            {
                await AnswerAsync(p, stream);
                return;
            }

            await p.SendGoodHeadersAsync(stream);
            await p.SendDataAsync(stream, Serving);
            await p.GoAwayAsync(stream, 0);
            rest = RestAsync(p, stream);
        });
        using RpcClient client = Connect(peer);
        await using RpcStreamingCall watch = client.Open(client.GetMethod("Watch"));
        await watch.SendAsync(new HealthCheckRequest());
        await watch.CompleteAsync();
        Assert.True(await watch.ReadAsync());

        // On the first connection, were it used, the answer would be a stream that waits.
        client.Invoke(client.GetMethod("Check"), new HealthCheckRequest(), new() { Timeout = Patience });
        goOn.SetResult();

        Assert.True(await watch.ReadAsync());
        Assert.False(await watch.ReadAsync());
        await rest!;

        async Task RestAsync(Http2PeerConnection p, int stream)
        {
            await goOn.Task;
            await p.SendDataAsync(stream, Serving);
            await p.SendHeadersAsync(stream, end: true, ("grpc-status", "0"));
        }
    }

    [Fact]
    public static async Task A_call_that_came_after_the_goodbye_is_made_again_elsewhere()
    {
        List<int> connections = [];
        await using Http2Peer peer = new((p, stream) =>
        {
            connections.Add(p.Number);
            return p.Number == 1 ? p.GoAwayAsync(0, 0) : AnswerAsync(p, stream);
        });

        HealthCheckResponse reply = Call(peer);

        Assert.Equal(HealthCheckResponse.Types.ServingStatus.Serving, reply.Status);
        Assert.Equal([1, 2], connections);
    }

    [Fact]
    public static async Task A_stream_of_requests_that_came_after_the_goodbye_fails_as_one_that_did_not_run()
    {
        await using Http2Peer peer = new(
            (p, stream) => p.Number == 1 ? p.GoAwayAsync(0, 0) : AnswerAsync(p, stream));
        using RpcClient client = RpcClient.Connect(
            peer.Endpoint, RpcSchema.FromDescriptors(ReflectionReflection.Descriptor));
        await using RpcStreamingCall call = client.Open(client.GetMethod("ServerReflectionInfo"));
        await call.SendAsync(new ServerReflectionRequest { ListServices = "" });

        RpcException error = await Assert.ThrowsAsync<RpcException>(async () => await call.ReadAsync());

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
        Assert.False(error.MayHaveExecuted);
    }

    [Fact]
    public static async Task A_stream_of_replies_whose_call_came_after_the_goodbye_begins_elsewhere()
    {
        await using Http2Peer peer = new(
            (p, stream) => p.Number == 1 ? p.GoAwayAsync(0, 0) : AnswerAsync(p, stream));
        using RpcClient client = Connect(peer);
        await using RpcStreamingCall watch = client.Open(client.GetMethod("Watch"));
        await watch.SendAsync(new HealthCheckRequest());

        Assert.True(await watch.ReadAsync());
        Assert.False(await watch.ReadAsync());
    }

    [Theory]
    [InlineData(0x2, RpcStatusCode.Internal)]
    [InlineData(0x8, RpcStatusCode.Cancelled)]
    public static async Task A_reset_while_requests_still_go_is_told_as_what_it_is(
        uint code, RpcStatusCode wanted)
    {
        await using Http2Peer peer = new((p, stream) => p.ResetAsync(stream, code));
        using RpcClient client = RpcClient.Connect(
            peer.Endpoint, RpcSchema.FromDescriptors(ReflectionReflection.Descriptor));
        await using RpcStreamingCall call = client.Open(client.GetMethod("ServerReflectionInfo"));
        await call.SendAsync(new ServerReflectionRequest { ListServices = "" });

        RpcException error = await Assert.ThrowsAsync<RpcException>(async () => await call.ReadAsync());

        CheckReset(error, code, wanted, mayHaveExecuted: true);
    }

    [Fact]
    public static async Task A_second_request_to_a_method_that_takes_one_is_refused()
    {
        await using Http2Peer peer = new(AnswerAsync);
        using RpcClient client = Connect(peer);
        await using RpcStreamingCall watch = client.Open(client.GetMethod("Watch"));
        await watch.SendAsync(new HealthCheckRequest());

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            async () => await watch.SendAsync(new HealthCheckRequest()));

        Assert.Equal(RpcStatusCode.InvalidArgument, error.Code);
    }

    [Theory]
    [InlineData(0x1, RpcStatusCode.Internal)]
    [InlineData(0x2, RpcStatusCode.Internal)]
    [InlineData(0xb, RpcStatusCode.ResourceExhausted)]
    [InlineData(0xc, RpcStatusCode.PermissionDenied)]
    public static async Task A_goodbye_with_an_error_ends_the_calls_that_were_taken(
        uint code, RpcStatusCode wanted)
    {
        await using Http2Peer peer = new(async (p, stream) =>
        {
            await p.SendGoodHeadersAsync(stream);
            await p.GoAwayAsync(stream, code);
            p.HangUp();
        });

        RpcException error = Assert.Throws<RpcException>(() => Call(peer));

        Assert.Equal(wanted, error.Code);
        Assert.Contains($"0x{code:x}", error.Message, StringComparison.Ordinal);
        Assert.True(error.MayHaveExecuted);
    }

    [Fact]
    public static async Task A_call_that_is_given_up_is_reset_on_the_server()
    {
        await using Http2Peer peer = new(async (p, stream) =>
        {
            await p.SendGoodHeadersAsync(stream);
            await p.SendDataAsync(stream, Serving);
        });
        using RpcClient client = Connect(peer);
        using CancellationTokenSource source = new();
        await using RpcStreamingCall watch = client.Open(
            client.GetMethod("Watch"), cancellationToken: source.Token);
        await watch.SendAsync(new HealthCheckRequest());
        Assert.True(await watch.ReadAsync());
        ValueTask<bool> reading = watch.ReadAsync();

        await source.CancelAsync();

        RpcException error = await Assert.ThrowsAsync<RpcException>(async () => await reading);
        Assert.Equal(RpcStatusCode.Cancelled, error.Code);
        Assert.True(SpinWait.SpinUntil(() => peer.TakenBack.Contains((1, 1)), Patience));
    }

    [Fact]
    public static async Task A_connection_is_kept_alive_by_pings_while_a_call_waits()
    {
        await using Http2Peer peer = new((p, stream) => p.SendGoodHeadersAsync(stream));
        using RpcClient client = Connect(peer, new RpcClientOptions { KeepAlive = TimeSpan.FromSeconds(1) });
        await using RpcStreamingCall watch = client.Open(client.GetMethod("Watch"));
        await watch.SendAsync(new HealthCheckRequest());

        Assert.True(SpinWait.SpinUntil(() => peer.Pings > 0, Patience));
    }

    private static byte[] Serving => [0, 0, 0, 0, 2, 8, 1];

    private static void CheckReset(
        RpcException error, uint code, RpcStatusCode wanted, bool mayHaveExecuted)
    {
        Assert.Equal(wanted, error.Code);
        Assert.Contains($"0x{code:x}", error.Message, StringComparison.Ordinal);
        Assert.Equal(mayHaveExecuted, error.MayHaveExecuted);
    }

    private static async Task AnswerAsync(Http2PeerConnection peer, int stream)
    {
        await peer.SendGoodHeadersAsync(stream);
        await peer.SendDataAsync(stream, Serving);
        await peer.SendHeadersAsync(stream, end: true, ("grpc-status", "0"));
    }

    private static RpcClient Connect(Http2Peer peer, RpcClientOptions? options = null) =>
        RpcClient.Connect(peer.Endpoint, Schema, options);

    private static HealthCheckResponse Call(Http2Peer peer)
    {
        using RpcClient client = Connect(peer);
        return HealthCheckResponse.Parser.ParseFrom(
            client.Invoke(client.GetMethod("Check"), new HealthCheckRequest(), new() { Timeout = Patience })
                .ToByteArray());
    }
}

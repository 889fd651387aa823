using ProtoRpc.Protocols.Grpc.Proto;

namespace ProtoRpc.Tests.Client.Grpc;

/// <summary>Malformed trailers, and the error of the caller.</summary>
public static class BadTrailersTests
{
    private static readonly RpcSchema Schema = RpcSchema.FromDescriptors(HealthReflection.Descriptor);

    [Theory]
    [InlineData("-1")]
    [InlineData("+5")]
    [InlineData(" 5")]
    [InlineData("0x5")]
    [InlineData("five")]
    [InlineData("99999999999")]
    [InlineData("")]
    public static async Task A_status_that_is_no_number_is_told(string status)
    {
        RpcException error = await FailAsync(("grpc-status", status));

        Assert.Equal("BadGrpcHeader", error.ErrorId);
        Assert.Equal(RpcStatusCode.Internal, error.Code);
        Assert.Contains("grpc-status", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task Two_statuses_are_none()
    {
        RpcException error = await FailAsync(("grpc-status", "0"), ("grpc-status", "5"));

        Assert.Equal("BadGrpcHeader", error.ErrorId);
    }

    [Fact]
    public static async Task Bytes_that_are_not_base64_are_told_with_their_name()
    {
        RpcException error = await FailAsync(("grpc-status", "0"), ("x-bytes-bin", "!!!"));

        Assert.Equal("BadGrpcHeader", error.ErrorId);
        Assert.Contains("x-bytes-bin: !!!", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("!!!")]
    [InlineData("/////w==")]
    [InlineData("")]
    public static async Task Details_that_cannot_be_read_leave_the_status(string details)
    {
        RpcException error = await FailAsync(
            ("grpc-status", "5"), ("grpc-message", "gone"), ("grpc-status-details-bin", details));

        Assert.Equal(RpcStatusCode.NotFound, error.Code);
        Assert.Equal("gone", error.Message);
        Assert.Empty(error.Details);
    }

    [Theory]
    [InlineData("100% wrong", "100% wrong")]
    [InlineData("cut %4", "cut %4")]
    [InlineData("no hex %zz", "no hex %zz")]
    [InlineData("half a letter %c3", "half a letter \ufffd")]
    public static async Task A_message_with_bad_escapes_is_shown_as_far_as_it_goes(string sent, string shown)
    {
        RpcException error = await FailAsync(("grpc-status", "5"), ("grpc-message", sent));

        Assert.Equal(RpcStatusCode.NotFound, error.Code);
        Assert.Equal(shown, error.Message);
    }

    [Fact]
    public static async Task A_flood_of_trailers_is_refused()
    {
        (string, string)[] flood = [.. Enumerable.Range(0, 100).Select(
            i => ($"x-{i}", new string('a', 1_000)))];

        RpcException error = await FailAsync([("grpc-status", "0"), .. flood]);

        Assert.True(error.Code == RpcStatusCode.ResourceExhausted, error.ToString());
        Assert.Contains("more headers than allowed", error.Message, StringComparison.Ordinal);
        Assert.Contains("RpcLimits.MaxHeaderBytes", error.Message, StringComparison.Ordinal);
        Assert.True(error.MayHaveExecuted);
    }

    [Fact]
    public static async Task A_client_with_a_higher_limit_takes_more_trailers()
    {
        (string, string)[] flood = [.. Enumerable.Range(0, 100).Select(
            i => ($"x-{i}", new string('a', 1_000)))];
        await using Http2Peer peer = Sending([("grpc-status", "0"), .. flood]);
        using RpcClient client = RpcClient.Connect(
            peer.Endpoint, Schema, new() { Limits = RpcLimits.Default with { MaxHeaderBytes = 200_000 } });
        RpcReplyInfo info = new();

        client.Invoke(
            client.GetMethod("Check"), new HealthCheckRequest(),
            new() { Timeout = TimeSpan.FromSeconds(20), ReplyInfo = info });

        Assert.Equal(100, info.Trailers.Count);
    }

    [Fact]
    public static async Task A_message_behind_the_trailers_is_no_success()
    {
        await using Http2Peer peer = new(async (p, stream) =>
        {
            await p.SendGoodHeadersAsync(stream);
            await p.SendHeadersAsync(stream, end: false, ("grpc-status", "0"));
            await p.SendDataAsync(stream, [0, 0, 0, 0, 2, 8, 1], end: true);
        });

        RpcException error = Call(peer);

        Assert.Equal(RpcStatusCode.Internal, error.Code);
    }

    private static Http2Peer Sending(params (string Name, string Value)[] trailers) => new(
        async (p, stream) =>
        {
            await p.SendGoodHeadersAsync(stream);
            await p.SendDataAsync(stream, [0, 0, 0, 0, 2, 8, 1]);
            await p.SendHeadersAsync(stream, end: true, trailers);
        });

    private static async Task<RpcException> FailAsync(params (string Name, string Value)[] trailers)
    {
        await using Http2Peer peer = Sending(trailers);
        return Call(peer);
    }

    private static RpcException Call(Http2Peer peer)
    {
        using RpcClient client = RpcClient.Connect(peer.Endpoint, Schema);
        return Assert.Throws<RpcException>(
            () => client.Invoke(
                client.GetMethod("Check"), new HealthCheckRequest(),
                    new() { Timeout = TimeSpan.FromSeconds(20) }));
    }
}

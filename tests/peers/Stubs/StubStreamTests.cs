using Google.Protobuf;
using Grpc.Core;
using GrpcException = Grpc.Core.RpcException;

namespace ProtoRpc.Peers.Stubs;

/// <summary>The streaming cases of gRPC's interoperability tests, by generated clients and
/// services.</summary>
public static class StubStreamTests
{
    private static readonly int[] RequestSizes = [27_182, 8, 1_828, 45_904];
    private static readonly int[] ReplySizes = [31_415, 9, 2_653, 58_979];

    public static TheoryData<string> Kinds => [.. CaseServer.Streaming];

    public static TheoryData<string> ServerStreaming => [.. CaseServer.Streaming, "http://127.0.0.1:0/"];

    public static TheoryData<string> WithoutStreams => ["tcp://127.0.0.1:0", "pipe", "local"];

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task Client_streaming(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);
        using AsyncClientStreamingCall<CaseRequest, CaseReply> call = server.Client.ClientStream();
        foreach (int size in RequestSizes)
        {
            await call.RequestStream.WriteAsync(Sized(size));
        }

        await call.RequestStream.CompleteAsync();

        Assert.Equal(74_922, (await call).Total);
        Assert.Equal(StatusCode.OK, call.GetStatus().StatusCode);
    }

    [Theory]
    [MemberData(nameof(ServerStreaming))]
    public static async Task Server_streaming(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);
        using AsyncServerStreamingCall<CaseReply> call = server.Client.ServerStream(
            new CaseRequest { ReplySizes = { ReplySizes } });

        List<int> sizes = [];
        await foreach (CaseReply reply in call.ResponseStream.ReadAllAsync())
        {
            sizes.Add(reply.Payload.Length);
        }

        Assert.Equal(ReplySizes, sizes);
        Assert.Equal(StatusCode.OK, call.GetStatus().StatusCode);
        Assert.False(await call.ResponseStream.MoveNext());
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task Ping_pong(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);
        using AsyncDuplexStreamingCall<CaseRequest, CaseReply> call = server.Client.Duplex();
        for (int i = 0; i < RequestSizes.Length; i++)
        {
            CaseRequest request = Sized(RequestSizes[i]);
            request.ReplySizes.Add(ReplySizes[i]);
            await call.RequestStream.WriteAsync(request);

            Assert.True(await call.ResponseStream.MoveNext());
            Assert.Equal(ReplySizes[i], call.ResponseStream.Current.Payload.Length);
        }

        await call.RequestStream.CompleteAsync();

        Assert.False(await call.ResponseStream.MoveNext());
        Assert.Equal(StatusCode.OK, call.GetStatus().StatusCode);
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task Empty_stream(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);
        using AsyncDuplexStreamingCall<CaseRequest, CaseReply> call = server.Client.Duplex();

        await call.RequestStream.CompleteAsync();

        Assert.False(await call.ResponseStream.MoveNext());
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task Cancel_after_begin(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);
        using CancellationTokenSource cancel = new();
        using AsyncClientStreamingCall<CaseRequest, CaseReply> call =
            server.Client.ClientStream(cancellationToken: cancel.Token);

        await cancel.CancelAsync();
        GrpcException error = await Assert.ThrowsAsync<GrpcException>(async () => await call);

        Assert.Equal(StatusCode.Cancelled, error.StatusCode);
        Assert.Equal(StatusCode.Cancelled, call.GetStatus().StatusCode);
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task Cancel_after_first_response(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);
        using CancellationTokenSource cancel = new();
        using AsyncDuplexStreamingCall<CaseRequest, CaseReply> call =
            server.Client.Duplex(cancellationToken: cancel.Token);
        await call.RequestStream.WriteAsync(new CaseRequest { ReplySizes = { 31_415 } });
        Assert.True(await call.ResponseStream.MoveNext());

        await cancel.CancelAsync();
        GrpcException error = await Assert.ThrowsAsync<GrpcException>(() => call.ResponseStream.MoveNext());

        Assert.Equal(StatusCode.Cancelled, error.StatusCode);
        await Patience.WaitAsync(server.Service.Cancelled.Task);
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task Timeout_on_sleeping_server(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);
        using AsyncDuplexStreamingCall<CaseRequest, CaseReply> call =
            server.Client.Duplex(deadline: DateTime.UtcNow.AddMilliseconds(300));
        try
        {
            await call.RequestStream.WriteAsync(Sized(27_182));
        }
        catch (GrpcException)
        {
            // The deadline may pass before.
        }

        GrpcException error = await Assert.ThrowsAsync<GrpcException>(() => call.ResponseStream.MoveNext());

        Assert.Equal(StatusCode.DeadlineExceeded, error.StatusCode);
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task Custom_metadata(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);
        Metadata headers = new()
        {
            { CaseService.Initial, "test_initial_metadata_value" },
            { CaseService.Trailing, [0xab, 0xab, 0xab] },
        };
        using AsyncDuplexStreamingCall<CaseRequest, CaseReply> call = server.Client.Duplex(headers);

        // Before any message.
        Metadata received = await Patience.WaitAsync(call.ResponseHeadersAsync);
        await call.RequestStream.CompleteAsync();
        Assert.False(await call.ResponseStream.MoveNext());

        Assert.Equal("test_initial_metadata_value", received.GetValue(CaseService.Initial));
        Assert.Equal([0xab, 0xab, 0xab], call.GetTrailers().GetValueBytes(CaseService.Trailing));
    }

    [Theory]
    [MemberData(nameof(ServerStreaming))]
    public static async Task A_stream_fails_after_its_replies(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);
        using AsyncServerStreamingCall<CaseReply> call = server.Client.ServerStream(
            new CaseRequest { ReplySizes = { 1 }, Status = 10, Text = "in the middle" });

        Assert.True(await call.ResponseStream.MoveNext());
        GrpcException error = await Assert.ThrowsAsync<GrpcException>(() => call.ResponseStream.MoveNext());

        Assert.Equal((StatusCode.Aborted, "in the middle"), (error.StatusCode, error.Status.Detail));
        Assert.Equal("yes", error.Trailers.GetValue("x-failed"));
        Assert.Equal(StatusCode.Aborted, call.GetStatus().StatusCode);
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task A_stream_of_requests_ends_by_the_servers_failure(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);
        using AsyncClientStreamingCall<CaseRequest, CaseReply> call = server.Client.ClientStream();

        try
        {
            await call.RequestStream.WriteAsync(new CaseRequest { Status = 10, Text = "enough" });
        }
        catch (GrpcException early)
        {
            // The failure may arrive before the write has ended.
            Assert.Equal(StatusCode.Aborted, early.StatusCode);
        }

        GrpcException error = await Assert.ThrowsAsync<GrpcException>(async () => await call);
        GrpcException writing = await Assert.ThrowsAsync<GrpcException>(
            () => call.RequestStream.WriteAsync(new CaseRequest()));

        Assert.Equal((StatusCode.Aborted, "enough"), (error.StatusCode, error.Status.Detail));
        Assert.Equal(StatusCode.Aborted, writing.StatusCode);
    }

    [Theory]
    [MemberData(nameof(ServerStreaming))]
    public static async Task Disposing_a_stream_cancels_it(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);
        AsyncServerStreamingCall<CaseReply> call = server.Client.ServerStream(
            new CaseRequest { ReplySizes = { 1 }, Text = "wait" });
        Assert.True(await call.ResponseStream.MoveNext());
        await Patience.WaitAsync(server.Service.Waiting.Task);

        call.Dispose();

        await Patience.WaitAsync(server.Service.Cancelled.Task);
        if (kind != CaseServer.FromGrpcNetClient)
        {
            GrpcException error = await Assert.ThrowsAsync<GrpcException>(
                () => call.ResponseStream.MoveNext());
            Assert.Equal(StatusCode.Cancelled, error.StatusCode);
        }
    }

    [Theory]
    [MemberData(nameof(WithoutStreams))]
    public static async Task Native_endpoints_carry_no_streams(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);
        using AsyncDuplexStreamingCall<CaseRequest, CaseReply> duplex = server.Client.Duplex();
        using AsyncServerStreamingCall<CaseReply> replies = server.Client.ServerStream(new CaseRequest());
        using AsyncClientStreamingCall<CaseRequest, CaseReply> requests = server.Client.ClientStream();

        await RefuseAsync(() => duplex.ResponseStream.MoveNext());
        await RefuseAsync(() => duplex.RequestStream.WriteAsync(new CaseRequest()));
        await RefuseAsync(() => duplex.ResponseHeadersAsync);
        await RefuseAsync(() => replies.ResponseStream.MoveNext());
        await RefuseAsync(() => requests.ResponseAsync);
        await RefuseAsync(() => requests.RequestStream.WriteAsync(new CaseRequest()));
    }

    [Fact]
    public static async Task HTTP_carries_no_streams_of_requests()
    {
        await using CaseServer server = await CaseServer.StartAsync("http://127.0.0.1:0/");
        using AsyncDuplexStreamingCall<CaseRequest, CaseReply> duplex = server.Client.Duplex();

        await RefuseAsync(() => duplex.ResponseStream.MoveNext());
    }

    private static CaseRequest Sized(int size) => new() { Payload = ByteString.CopyFrom(new byte[size]) };

    private static async Task RefuseAsync(Func<Task> call)
    {
        GrpcException error = await Assert.ThrowsAsync<GrpcException>(call);
        Assert.Equal(StatusCode.Unimplemented, error.StatusCode);
        Assert.Contains("stream", error.Status.Detail, StringComparison.Ordinal);
    }
}

using System.Net;
using Grpc.Core;
using Grpc.Net.Client;
using Grpc.Net.Client.Web;
using ProtoRpc.Http.Tests.Streams;
using GrpcException = Grpc.Core.RpcException;

namespace ProtoRpc.Peers;

/// <summary>Grpc.Net.Client.Web against the HTTP endpoint of our listener.</summary>
[PeerCall(
    "Grpc.Net.Client.Web", "gRPC-Web", PeerSide.Client, PeerCalls.Unary | PeerCalls.ServerStream
        | PeerCalls.Errors | PeerCalls.ErrorDetails | PeerCalls.Metadata | PeerCalls.Cancellation)]
public sealed class GrpcWebClientTests : IDisposable
{
    private readonly WordsServer _server = new("http://127.0.0.1:0/");

    public void Dispose() => _server.Dispose();

    [Theory]
    [InlineData(GrpcWebMode.GrpcWeb)]
    [InlineData(GrpcWebMode.GrpcWebText)]
    public async Task A_unary_call_gets_its_reply_headers_and_trailers(GrpcWebMode mode)
    {
        using GrpcChannel channel = Open(mode);
        using AsyncUnaryCall<Text> call = new Words.WordsClient(channel).SayAsync(
            new Text { Text_ = "headers" },
            new Metadata { { "x-asked", "here" }, { "x-asked-bin", new byte[] { 0, 255 } } });

        Text reply = await call;

        Assert.NotEmpty(reply.Text_);
        Assert.Equal("here", (await call.ResponseHeadersAsync).GetValue("x-first"));
        Assert.Equal([0, 255], call.GetTrailers().GetValueBytes("x-last-bin"));
    }

    [Theory]
    [InlineData(GrpcWebMode.GrpcWeb)]
    [InlineData(GrpcWebMode.GrpcWebText)]
    public async Task Replies_stream(GrpcWebMode mode)
    {
        using GrpcChannel channel = Open(mode);
        using AsyncServerStreamingCall<Text> call =
            new Words.WordsClient(channel).Split(new Text { Text_ = "one two three" });

        List<string> texts = [];
        while (await call.ResponseStream.MoveNext())
        {
            texts.Add(call.ResponseStream.Current.Text_);
        }

        Assert.Equal(["one", "two", "three"], texts);
    }

    [Theory]
    [InlineData(GrpcWebMode.GrpcWeb)]
    [InlineData(GrpcWebMode.GrpcWebText)]
    public async Task A_failure_has_its_status_text_trailers_and_details(GrpcWebMode mode)
    {
        using GrpcChannel channel = Open(mode);

        GrpcException error = await Assert.ThrowsAsync<GrpcException>(
            async () => await new Words.WordsClient(channel).SayAsync(new Text { Text_ = "fail" }));

        Assert.Equal(StatusCode.NotFound, error.StatusCode);
        Assert.Equal("Kein Öl: 100 % leer\n", error.Status.Detail);
        Assert.Equal("of a failure", error.Trailers.GetValue("x-last"));
        Assert.Equal(
            "a detail", Assert.Single(error.GetRpcStatus()!.Details).Unpack<Text>().Text_);
    }

    [Theory]
    [InlineData(GrpcWebMode.GrpcWeb)]
    [InlineData(GrpcWebMode.GrpcWebText)]
    public async Task A_stream_fails_after_its_replies(GrpcWebMode mode)
    {
        using GrpcChannel channel = Open(mode);
        using AsyncServerStreamingCall<Text> call =
            new Words.WordsClient(channel).Split(new Text { Text_ = "one fail" });

        Assert.True(await call.ResponseStream.MoveNext());
        GrpcException error = await Assert.ThrowsAsync<GrpcException>(() => call.ResponseStream.MoveNext());

        Assert.Equal((StatusCode.Aborted, "in the middle"), (error.StatusCode, error.Status.Detail));
    }

    [Theory]
    [InlineData(GrpcWebMode.GrpcWeb)]
    [InlineData(GrpcWebMode.GrpcWebText)]
    public async Task Cancelling_ends_the_call_on_both_sides(GrpcWebMode mode)
    {
        using GrpcChannel channel = Open(mode);
        using CancellationTokenSource source = new();
        using AsyncServerStreamingCall<Text> call = new Words.WordsClient(channel).Split(
            new Text { Text_ = "one wait" }, cancellationToken: source.Token);
        Assert.True(await call.ResponseStream.MoveNext());
        await Patience.WaitAsync(_server.Waiting.Task);

        await source.CancelAsync();
        GrpcException error = await Assert.ThrowsAsync<GrpcException>(() => call.ResponseStream.MoveNext());

        Assert.Equal(StatusCode.Cancelled, error.StatusCode);
        Assert.Equal("cancelled", await Patience.WaitAsync(_server.Ended.Task));
    }

    private GrpcChannel Open(GrpcWebMode mode) => GrpcChannel.ForAddress(
        $"http://127.0.0.1:{_server.Endpoint.Port}",
        new GrpcChannelOptions
        {
            HttpHandler = new GrpcWebHandler(mode, new SocketsHttpHandler { UseProxy = false }),
            HttpVersion = HttpVersion.Version11,
            HttpVersionPolicy = HttpVersionPolicy.RequestVersionExact,
            DisposeHttpClient = true,
        });
}

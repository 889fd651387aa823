using System.Buffers.Binary;
using System.Net;
using System.Text;
using Google.Protobuf;
using ProtoRpc.Http.Tests.Connect;

namespace ProtoRpc.Http.Tests.Grpc;

/// <summary>Calls of grpcweb:// endpoints: to a listener of ours, and of answers that others send.</summary>
public sealed class GrpcWebClientTests : IDisposable
{
    private static readonly byte[] One = FrameBytes.Create(0, WordsServer.Text("one").ToByteArray());
    private static readonly byte[] Ok = FrameBytes.Create(0x80, "grpc-status:0\r\n"u8.ToArray());

    private readonly WordsServer _server = new("http://127.0.0.1:0/");

    public void Dispose() => _server.Dispose();

    [Theory]
    [InlineData(false, RpcCompression.None)]
    [InlineData(false, RpcCompression.Gzip)]
    [InlineData(true, RpcCompression.None)]
    [InlineData(true, RpcCompression.Gzip)]
    public async Task Calls_and_streams_of_replies_work(bool isText, RpcCompression compression)
    {
        using RpcClient client = Connect(new() { GrpcWebText = isText, Compression = compression });
        string text = new('x', 20_000);
        RpcReplyInfo info = new();
        RpcMetadata headers = new();
        headers.Add("x-asked", "here");
        headers.Add("x-asked-bin", [0, 255]);

        IMessage said = client.Invoke("Say", WordsServer.Text(text));
        client.Invoke(
            "Say", WordsServer.Text("headers"), new RpcCallOptions { Headers = headers, ReplyInfo = info });
        List<string> split = await ConnectClientTests.TextsAsync(
            client.InvokeServerStreamAsync("Split", WordsServer.Text($"a {text} c")));

        Assert.Equal(text, WordsServer.TextOf(said));
        Assert.Equal("here", info.Headers.GetText("x-first"));
        Assert.Equal([0, 255], info.Trailers.GetBytes("x-last-bin"));
        Assert.Equal(["a", text, "c"], split);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Failures_have_status_text_details_and_trailers(bool isText)
    {
        using RpcClient client = Connect(new() { GrpcWebText = isText });
        RpcReplyInfo info = new();

        RpcException error = Assert.Throws<RpcException>(() => client.Invoke(
            "Say", WordsServer.Text("fail"), new RpcCallOptions { ReplyInfo = info }));
        RpcException later = await Assert.ThrowsAsync<RpcException>(() => ConnectClientTests.TextsAsync(
            client.InvokeServerStreamAsync("Split", WordsServer.Text("a fail"))));

        Assert.Equal((RpcStatusCode.NotFound, "Kein Öl: 100 % leer\n"), (error.Code, error.Message));
        Assert.Equal("of a failure", info.Trailers.GetText("x-last"));
        Assert.Equal("a detail", WordsServer.TextOf((DynamicMessage)Assert.Single(error.Details)));
        Assert.Equal((RpcStatusCode.Aborted, "in the middle"), (later.Code, later.Message));
    }

    [Fact]
    public async Task Requests_cannot_be_streamed()
    {
        using RpcClient client = Connect(new());

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeClientStreamAsync("Join", ConnectClientTests.Requests("a")));

        Assert.Equal(RpcStatusCode.Unimplemented, error.Code);
        Assert.Contains("gRPC-Web", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_deadline_ends_calls_on_both_sides()
    {
        using RpcClient client = Connect(new());

        RpcException error = Assert.Throws<RpcException>(() => client.Invoke(
            "Say", WordsServer.Text("wait"),
            new RpcCallOptions { Timeout = TimeSpan.FromMilliseconds(300) }));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        Assert.Equal("cancelled", await _server.Ended.Task.WaitAsync(TimeSpan.FromSeconds(20)));
    }

    public static TheoryData<byte[], RpcStatusCode, string> Answers { get; } = new()
    {
        {
            [.. One, .. Trailers("grpc-status: 5\r\nGRPC-MESSAGE: no%20oil\r\n")],
            RpcStatusCode.NotFound, "no oil"
        },
        { [.. One, .. Trailers("grpc-status:0\n")], RpcStatusCode.OK, "" },
        { Trailers("grpc-status: 7"), RpcStatusCode.PermissionDenied, "PermissionDenied" },
        { [.. One, .. Trailers("")], RpcStatusCode.Internal, "without a status" },
        { [.. One, .. Trailers("nonsense\r\n:\r\n\0")], RpcStatusCode.Internal, "without a status" },
        { One, RpcStatusCode.Internal, "without a status" },
        { [], RpcStatusCode.Internal, "without a status" },
        { [.. One, 0, 0], RpcStatusCode.Internal, "in the middle of a message" },
        { [2, 0, 0, 0, 0], RpcStatusCode.Internal, "0x02" },
        { [0x40, 0, 0, 0, 0], RpcStatusCode.Internal, "0x40" },
        { [1, 0, 0, 0, 1, 0], RpcStatusCode.Internal, "no grpc-encoding" },
        { [0, 0x7f, 0xff, 0xff, 0xff], RpcStatusCode.ResourceExhausted, "limit" },
        { [0x80, 0x7f, 0xff, 0xff, 0xff], RpcStatusCode.ResourceExhausted, "limit" },
        { [.. One, .. Ok, .. Ok], RpcStatusCode.Internal, "more bytes follow the end" },
        { [.. One, .. Ok, .. One], RpcStatusCode.Internal, "more bytes follow the end" },
        { Trailers(new string('x', 200_000)), RpcStatusCode.ResourceExhausted, "more headers than allowed" },
    };

    [Theory]
    [MemberData(nameof(Answers))]
    public async Task The_last_frame_says_how_a_call_ended(byte[] body, RpcStatusCode code, string text)
    {
        foreach (bool isText in new[] { false, true })
        {
            RpcException? error = await SplitAsync(
                isText ? Encoding.ASCII.GetBytes(Convert.ToBase64String(body)) : body,
                isText ? "application/grpc-web-text+proto" : "application/grpc-web+proto");

            Assert.Equal(code, error?.Code ?? RpcStatusCode.OK);
            Assert.Contains(text, error?.Message ?? "", StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task Pieces_of_text_have_padding_of_their_own()
    {
        string text = string.Concat(
            new[] { One[..4], One[4..], Ok }.Select(piece => Convert.ToBase64String(piece)));

        Assert.Null(await SplitAsync(Encoding.ASCII.GetBytes(text), "application/grpc-web-text"));
    }

    [Theory]
    [InlineData("AAA")]
    [InlineData("####")]
    [InlineData("AAAAAA==A")]
    public async Task What_is_not_base64_is_an_error_of_the_peer(string text)
    {
        RpcException? error = await SplitAsync(Encoding.ASCII.GetBytes(text), "application/grpc-web-text");

        Assert.Equal((RpcStatusCode.Internal, "BadGrpcFrame"), (error?.Code, error?.ErrorId));
    }

    [Theory]
    [InlineData(400, RpcStatusCode.Internal)]
    [InlineData(401, RpcStatusCode.Unauthenticated)]
    [InlineData(403, RpcStatusCode.PermissionDenied)]
    [InlineData(404, RpcStatusCode.Unimplemented)]
    [InlineData(429, RpcStatusCode.Unavailable)]
    [InlineData(502, RpcStatusCode.Unavailable)]
    [InlineData(500, RpcStatusCode.Unknown)]
    [InlineData(200, RpcStatusCode.Unknown)]
    public async Task What_is_not_gRPC_Web_has_the_status_for_that_of_HTTP(int status, RpcStatusCode code)
    {
        RpcException? error = await SplitAsync("<p>"u8.ToArray(), "text/html", status);

        Assert.Equal(code, error?.Code);
    }

    [Fact]
    public async Task A_status_may_be_in_the_headers_alone()
    {
        RpcException? error = await SplitAsync(
            [], "application/grpc-web+proto", 200, ("grpc-status", "8"), ("grpc-message", "busy"));

        Assert.Equal((RpcStatusCode.ResourceExhausted, "busy"), (error?.Code, error?.Message));
    }

    private static byte[] Trailers(string text)
    {
        byte[] frame = [0x80, 0, 0, 0, 0, .. Encoding.Latin1.GetBytes(text)];
        BinaryPrimitives.WriteInt32BigEndian(frame.AsSpan(1), text.Length);
        return frame;
    }

    private static async Task<RpcException?> SplitAsync(
        byte[] body, string type, int status = 200, params (string Name, string Value)[] headers)
    {
        HttpResponseMessage answer = new((HttpStatusCode)status)
        {
            Content = new ByteArrayContent(body) { Headers = { ContentType = new(type) } },
        };
        foreach ((string name, string value) in headers)
        {
            answer.Headers.Add(name, value);
        }

        using RpcClient client = RpcClient.Connect("grpcweb://127.0.0.1:1", WordsServer.Schema, new()
        {
            Lazy = true,
            Service = "streams.Words",
            HttpHandler = () => new Answering(answer),
        });
        try
        {
            await ConnectClientTests.TextsAsync(
                client.InvokeServerStreamAsync("Split", WordsServer.Text("x")));
            return null;
        }
        catch (RpcException e)
        {
            return e;
        }
    }

    private RpcClient Connect(RpcClientOptions options) => RpcClient.Connect(
        $"grpcweb://127.0.0.1:{_server.Endpoint.Port}", WordsServer.Schema,
        options with { Service = "streams.Words" });

    private sealed class Answering(HttpResponseMessage answer) : HttpMessageHandler
    {
        protected override Task<HttpResponseMessage> SendAsync(
            HttpRequestMessage request, CancellationToken cancellationToken) => Task.FromResult(answer);
    }
}

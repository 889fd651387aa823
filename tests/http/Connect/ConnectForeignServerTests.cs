using System.IO.Compression;
using System.Net;
using System.Net.Http.Headers;
using System.Text;
using Google.Protobuf;

namespace ProtoRpc.Http.Tests.Connect;

/// <summary>Answers of Connect servers that are not ours, and of hostile ones.</summary>
public static class ConnectForeignServerTests
{
    private static readonly byte[] One = FrameBytes.Create(0, WordsServer.Text("one").ToByteArray());
    private static readonly byte[] End = FrameBytes.Create(2, "{}"u8.ToArray());

    [Fact]
    public static async Task A_stream_ends_with_its_last_frame()
    {
        (List<string> replies, RpcException? error) = await StreamAsync([.. One, .. One, .. End]);

        Assert.Null(error);
        Assert.Equal(["one", "one"], replies);
    }

    public static TheoryData<byte[], string> Violations { get; } = new()
    {
        { [], "without its last frame" },
        { [0, 0, 0], "in the middle of a message" },
        { [0, 0, 0, 0, 9, 1], "in the middle of a message" },
        { [4, 0, 0, 0, 0], "0x04" },
        { [0x80, 0, 0, 0, 0], "0x80" },
        { [1, 0, 0, 0, 1, 0], "no Connect-Content-Encoding" },
        { [3, 0, 0, 0, 1, 0], "no Connect-Content-Encoding" },
        { [2, 0, 0, 0, 1, (byte)'{'], "the end of the stream cannot be read" },
        { [2, 0, 0, 0, 0], "the end of the stream cannot be read" },
        { [.. End, .. End], "more bytes follow the end" },
        { [.. End, 0], "more bytes follow the end" },
        { [.. End, .. FrameBytes.Create(0)], "more bytes follow the end" },
    };

    [Theory]
    [MemberData(nameof(Violations))]
    public static async Task Frames_that_lie_are_bad_replies(byte[] body, string why)
    {
        foreach (byte[] whole in new[] { body, [.. One, .. body] })
        {
            (_, RpcException? error) = await StreamAsync(whole);

            Assert.Equal((RpcStatusCode.Internal, "BadReply"), (error?.Code, error?.ErrorId));
            Assert.Contains(why, error!.Message, StringComparison.Ordinal);
            Assert.True(error.MayHaveExecuted);
        }
    }

    [Theory]
    [InlineData(0)]
    [InlineData(2)]
    public static async Task A_frame_over_the_limit_is_refused_by_its_length(byte flags)
    {
        (_, RpcException? error) = await StreamAsync([flags, 0x7f, 0xff, 0xff, 0xff, 1]);

        Assert.Equal((RpcStatusCode.ResourceExhausted, "MessageTooLarge"), (error?.Code, error?.ErrorId));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(3)]
    public static async Task A_bomb_is_refused_by_what_it_inflates_to(byte flags)
    {
        using MemoryStream packed = new();
        using (GZipStream gzip = new(packed, CompressionLevel.Optimal, leaveOpen: true))
        {
            gzip.Write(new byte[64 * 1024 * 1024]);
        }

        (_, RpcException? error) = await StreamAsync(
            FrameBytes.Create(flags, packed.ToArray()), encoding: "gzip");

        Assert.Equal((RpcStatusCode.ResourceExhausted, "MessageTooLarge"), (error?.Code, error?.ErrorId));
    }

    [Fact]
    public static async Task An_end_may_be_compressed()
    {
        using MemoryStream packed = new();
        using (GZipStream gzip = new(packed, CompressionLevel.Optimal, leaveOpen: true))
        {
            gzip.Write("""{"error":{"code":"aborted","message":"no"}}"""u8);
        }

        (_, RpcException? error) = await StreamAsync(
            [.. One, .. FrameBytes.Create(3, packed.ToArray())], encoding: "gzip");

        Assert.Equal((RpcStatusCode.Aborted, "no"), (error?.Code, error?.Message));
    }

    [Theory]
    [InlineData("""{"code":"made_up","message":"x"}""", RpcStatusCode.Unknown)]
    [InlineData("""{"code":null}""", RpcStatusCode.Unknown)]
    [InlineData("{}", RpcStatusCode.Unknown)]
    [InlineData("""{"code":"ok"}""", RpcStatusCode.Unknown)]
    [InlineData("""{"code":"data_loss"}""", RpcStatusCode.DataLoss)]
    public static async Task An_error_never_looks_like_success(string json, RpcStatusCode code)
    {
        (_, RpcException? error) = await StreamAsync(
            FrameBytes.Create(2, Encoding.UTF8.GetBytes($"{{\"error\":{json}}}")));

        Assert.Equal(code, error?.Code);
    }

    [Theory]
    [InlineData(400, RpcStatusCode.Internal)]
    [InlineData(401, RpcStatusCode.Unauthenticated)]
    [InlineData(403, RpcStatusCode.PermissionDenied)]
    [InlineData(404, RpcStatusCode.Unimplemented)]
    [InlineData(409, RpcStatusCode.Unknown)]
    [InlineData(429, RpcStatusCode.Unavailable)]
    [InlineData(500, RpcStatusCode.Unknown)]
    [InlineData(502, RpcStatusCode.Unavailable)]
    [InlineData(503, RpcStatusCode.Unavailable)]
    [InlineData(504, RpcStatusCode.Unavailable)]
    public static async Task A_status_of_HTTP_without_an_error_has_the_code_of_the_protocol(
        int status, RpcStatusCode code)
    {
        foreach (string body in new[] { "", "<p>", "[]", "{\"code\":" })
        {
            (_, RpcException? stream) = await StreamAsync(
                Encoding.UTF8.GetBytes(body), status, "application/json");
            RpcException unary = Assert.Throws<RpcException>(
                () => Say(status, "application/json", Encoding.UTF8.GetBytes(body)));

            Assert.Equal((code, code), (stream?.Code, unary.Code));
        }
    }

    [Theory]
    [InlineData("text/html")]
    [InlineData("application/proto")]
    [InlineData("application/connect+json")]
    public static async Task A_stream_of_another_type_is_a_bad_reply(string type)
    {
        (_, RpcException? error) = await StreamAsync([.. One, .. End], 200, type);

        Assert.Equal((RpcStatusCode.Internal, "BadReply"), (error?.Code, error?.ErrorId));
        Assert.Contains(type, error!.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_reply_of_another_type_is_a_bad_reply()
    {
        RpcException error = Assert.Throws<RpcException>(() => Say(200, "text/html", "<p>"u8.ToArray()));

        Assert.Equal("BadReply", error.ErrorId);
    }

    [Fact]
    public static async Task A_body_that_stays_open_behind_its_end_is_not_waited_for()
    {
        using OpenStream body = new([.. One, .. End]);

        (List<string> replies, RpcException? error) = await StreamAsync(body)
            .WaitAsync(TimeSpan.FromSeconds(30));

        Assert.Null(error);
        Assert.Equal(["one"], replies);
    }

    [Fact]
    public static void A_request_has_what_servers_of_Connect_read()
    {
        HttpRequestMessage? sent = null;
        using RpcClient client = Connect(new Answers(request =>
        {
            sent = request;
            return Of(200, "application/proto", new MemoryStream());
        }));

        client.Invoke("Say", WordsServer.Text("x"), new RpcCallOptions { Timeout = TimeSpan.FromSeconds(5) });

        Assert.Equal("http://127.0.0.1:1/streams.Words/Say", sent!.RequestUri!.AbsoluteUri);
        Assert.Equal("application/proto", sent.Content!.Headers.ContentType!.ToString());
        Assert.Equal("1", sent.Headers.GetValues("Connect-Protocol-Version").Single());
        Assert.InRange(int.Parse(sent.Headers.GetValues("Connect-Timeout-Ms").Single()), 1, 5000);
    }

    private static IMessage Say(int status, string type, byte[] body)
    {
        using RpcClient client = Connect(new Answers(_ => Of(status, type, new MemoryStream(body))));
        return client.Invoke("Say", WordsServer.Text("x"));
    }

    private static Task<(List<string> Replies, RpcException? Error)> StreamAsync(
        byte[] body, int status = 200, string type = ConnectFrames.Proto, string? encoding = null) =>
        StreamAsync(new MemoryStream(body), status, type, encoding);

    private static async Task<(List<string> Replies, RpcException? Error)> StreamAsync(
        Stream body, int status = 200, string type = ConnectFrames.Proto, string? encoding = null)
    {
        using RpcClient client = Connect(new Answers(_ =>
        {
            HttpResponseMessage answer = Of(status, type, body);
            if (encoding is not null)
            {
                answer.Headers.Add("Connect-Content-Encoding", encoding);
            }

            return answer;
        }));
        List<string> replies = [];
        try
        {
            await foreach (DynamicMessage reply in client.InvokeServerStreamAsync(
                "Split", WordsServer.Text("x")))
            {
                replies.Add(WordsServer.TextOf(reply));
            }

            return (replies, null);
        }
        catch (RpcException e)
        {
            return (replies, e);
        }
    }

    private static HttpResponseMessage Of(int status, string type, Stream body) => new((HttpStatusCode)status)
    {
        Content = new StreamContent(body) { Headers = { ContentType = MediaTypeHeaderValue.Parse(type) } },
    };

    private static RpcClient Connect(Answers answers) => RpcClient.Connect(
        "connect://127.0.0.1:1", WordsServer.Schema, new()
        {
            Lazy = true,
            Service = "streams.Words",
            HttpHandler = () => answers,
        });

    private sealed class Answers(Func<HttpRequestMessage, HttpResponseMessage> answer) : HttpMessageHandler
    {
        protected override Task<HttpResponseMessage> SendAsync(
            HttpRequestMessage request, CancellationToken cancellationToken) =>
            Task.FromResult(answer(request));
    }

    /// <summary>Bytes behind which nothing comes, and no end.</summary>
    private sealed class OpenStream(byte[] bytes) : MemoryStream(bytes)
    {
        public override async ValueTask<int> ReadAsync(
            Memory<byte> buffer, CancellationToken cancellationToken = default)
        {
            int count = await base.ReadAsync(buffer, cancellationToken);
            if (count == 0)
            {
                await Task.Delay(Timeout.Infinite, cancellationToken);
            }

            return count;
        }
    }
}

using System.IO.Compression;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace ProtoRpc.Http.Tests.Connect;

/// <summary>Streams of the Connect protocol on an HTTP endpoint, byte by byte.</summary>
public sealed class ConnectStreamTests : IDisposable
{
    private readonly WordsServer _server = new("http://127.0.0.1:0/");

    public void Dispose()
    {
        _server.Server.RequireCounts(counts => counts.InFlight == 0);
        _server.Dispose();
    }

    [Theory]
    [InlineData("Split", "a b", "a|b")]
    [InlineData("Split", "", "")]
    [InlineData("Join", "a|b|c", "a b c")]
    [InlineData("Join", null, "")]
    [InlineData("Chat", "a|b", "a!|b!")]
    public async Task Messages_are_frames_and_the_last_one_is_the_end(
        string method, string? requests, string replies)
    {
        ConnectAnswer answer = await ConnectFrames.PostAsync(
            _server, method, ConnectFrames.Texts(requests?.Split('|') ?? []));

        Assert.Equal(HttpStatusCode.OK, answer.Status);
        Assert.Equal(ConnectFrames.Json, answer.Response.Content.Headers.ContentType?.ToString());
        Assert.Equal("gzip, deflate, br", answer.Header("Connect-Accept-Encoding"));
        Assert.Equal("{}", answer.End);
        Assert.Equal(
            method == "Join" || replies.Length > 0
                ? replies.Split('|').Select(text => text.Length == 0 ? "{}" : $$"""{"text":"{{text}}"}""")
                : [],
            answer.Messages);
    }

    [Fact]
    public async Task Binary_messages_are_framed_as_well()
    {
        ConnectAnswer answer = await ConnectFrames.PostAsync(
            _server, "Split", FrameBytes.Create(0, WordsServer.Text("a b").ToByteArray()),
            ConnectFrames.Proto);

        Assert.Equal(
            "0000000003" + "0A0161" + "0000000003" + "0A0162" + "0200000002" + "7B7D",
            Convert.ToHexString(answer.Bytes));
        Assert.Equal(ConnectFrames.Proto, answer.Response.Content.Headers.ContentType?.ToString());
    }

    [Theory]
    [InlineData("fail", """{"error":{"code":"aborted","message":"in the middle"}}""")]
    [InlineData("unavailable", """{"error":{"code":"unavailable","message":"in the middle"}}""")]
    public async Task A_failure_is_in_the_end_before_and_after_replies(string word, string end)
    {
        ConnectAnswer first = await ConnectFrames.PostAsync(_server, "Split", ConnectFrames.Texts(word));
        ConnectAnswer later = await ConnectFrames.PostAsync(
            _server, "Split", ConnectFrames.Texts($"a {word} b"));

        Assert.Equal(HttpStatusCode.OK, first.Status);
        Assert.Equal(end, first.End);
        Assert.Single(first.Frames);
        Assert.Equal(["""{"text":"a"}"""], later.Messages);
        Assert.Equal(end, later.End);
    }

    [Fact]
    public async Task Metadata_is_in_headers_and_in_the_end()
    {
        using RpcServer server = RpcServer.Create(
            WordsServer.Schema, "streams.Words", new RpcServerOptions().WithHttp())
            .HandleStreaming("Split", async (context, stream) =>
            {
                context.ReplyHeaders.Add("x-first", context.RequestHeaders.GetText("x-asked")!);
                context.ReplyTrailers.Add("x-last", "one");
                context.ReplyTrailers.Add("x-last", "two");
                context.ReplyTrailers.Add("x-bytes-bin", context.RequestHeaders.GetBytes("x-asked-bin")!);
                await stream.WriteAsync(WordsServer.Text("x"));
                throw new RpcException(RpcStatusCode.DataLoss, "lost") { Details = [WordsServer.Text("d")] };
            })
            .AddEndpoint("http://127.0.0.1:0/");
        server.StartListening();
        using HttpClient http = new(new SocketsHttpHandler { UseProxy = false });
        using HttpRequestMessage request = new(
            HttpMethod.Post, $"{server.Endpoints[0].Uri}streams.Words/Split")
        {
            Content = new ByteArrayContent(ConnectFrames.Texts("x"))
            {
                Headers = { ContentType = new(ConnectFrames.Json) },
            },
            Headers = { { "x-asked", "here" }, { "x-asked-bin", "AAE" } },
        };

        using HttpResponseMessage response = await http.SendAsync(request);
        ConnectAnswer answer = new(response, await response.Content.ReadAsByteArrayAsync());

        Assert.Equal("here", answer.Header("x-first"));
        Assert.Equal(
            """{"error":{"code":"data_loss","message":"lost","details":["""
            + """{"type":"streams.Text","value":"CgFk","debug":{"text":"d"}}]},"""
            + """ "metadata":{"x-last":["one","two"],"x-bytes-bin":["AAE"]}}""".TrimStart(),
            answer.End);
    }

    [Theory]
    [InlineData(new byte[0], "unimplemented", "ends before its message")]
    [InlineData(new byte[] { 0, 0, 0 }, "invalid_argument", "in the middle of a message")]
    [InlineData(new byte[] { 0, 0, 0, 0, 9, 1 }, "invalid_argument", "in the middle of a message")]
    [InlineData(new byte[] { 2, 0, 0, 0, 2, 0x7b, 0x7d }, "invalid_argument", "0x02")]
    [InlineData(new byte[] { 4, 0, 0, 0, 2, 0x7b, 0x7d }, "invalid_argument", "0x04")]
    [InlineData(new byte[] { 0x80, 0, 0, 0, 0 }, "invalid_argument", "0x80")]
    [InlineData(new byte[] { 0, 0, 0, 0, 2, 0x7b, 0x7d, 0, 0, 0, 0, 2, 0x7b, 0x7d }, "unimplemented", "more")]
    [InlineData(new byte[] { 0, 0xff, 0xff, 0xff, 0xff }, "resource_exhausted", "the server's limit")]
    [InlineData(new byte[] { 1, 0, 0, 0, 1, 0 }, "invalid_argument", "no Connect-Content-Encoding")]
    [InlineData(new byte[] { 0, 0, 0, 0, 1, 0x7b }, "invalid_argument", "Text")]
    public async Task Frames_that_lie_are_refused(byte[] body, string code, string text)
    {
        ConnectAnswer answer = await ConnectFrames.PostAsync(_server, "Split", body);

        Assert.Equal(HttpStatusCode.OK, answer.Status);
        Assert.StartsWith($$$"""{"error":{"code":"{{{code}}}","message":""", answer.End);
        Assert.Contains(text, answer.End.Replace(@"\u0027", "'", StringComparison.Ordinal));
        Assert.Single(answer.Frames);
    }

    [Fact]
    public async Task A_bomb_is_refused_by_what_it_inflates_to()
    {
        ConnectAnswer answer = await ConnectFrames.PostAsync(
            _server, "Join", FrameBytes.Create(1, Gzip(new byte[64 * 1024 * 1024])),
            headers: ("Connect-Content-Encoding", "gzip"));

        Assert.StartsWith("""{"error":{"code":"resource_exhausted""", answer.End);
    }

    [Theory]
    [InlineData("gzip")]
    [InlineData("br")]
    public async Task Replies_are_compressed_when_both_sides_want_it(string encoding)
    {
        using WordsServer server = new(
            "http://127.0.0.1:0/", http: new() { ReplyCompression = RpcReplyCompression.Always });
        string long1 = new('x', 5000);
        byte[] request = encoding == "gzip"
            ? FrameBytes.Create(1, Gzip(Encoding.UTF8.GetBytes($$"""{"text":"{{long1}} b"}""")))
            : ConnectFrames.Texts($"{long1} b");

        ConnectAnswer answer = await ConnectFrames.PostAsync(
            server, "Split", request, ConnectFrames.Json, ("Connect-Content-Encoding", "gzip"),
            ("Connect-Accept-Encoding", encoding));

        Assert.Equal(encoding, answer.Header("Connect-Content-Encoding"));
        Assert.Equal([1, 0, 2], answer.Frames.Select(f => (int)f.Flags));
        await using Stream inflated = encoding == "gzip"
            ? new GZipStream(new MemoryStream(answer.Frames[0].Body), CompressionMode.Decompress)
            : new BrotliStream(new MemoryStream(answer.Frames[0].Body), CompressionMode.Decompress);
        Assert.Equal($$"""{"text":"{{long1}}"}""", await new StreamReader(inflated).ReadToEndAsync());
    }

    [Fact]
    public async Task An_unknown_compression_is_unimplemented_and_says_what_is_known()
    {
        ConnectAnswer stream = await ConnectFrames.PostAsync(
            _server, "Split", ConnectFrames.Texts("x"), headers: ("Connect-Content-Encoding", "zstd"));

        Assert.StartsWith("""{"error":{"code":"unimplemented""", stream.End);
        Assert.Contains("gzip", stream.End);
        Assert.Equal("gzip, deflate, br", stream.Header("Connect-Accept-Encoding"));
        Assert.Equal(HttpStatusCode.OK, stream.Status);
    }

    [Theory]
    [InlineData("Split", "application/connect+cbor")]
    [InlineData("Say", "application/connect+json")]
    [InlineData("Join", "application/connect+xml")]
    [InlineData("Say", "application/cbor")]
    public async Task A_type_that_does_not_fit_is_415_and_says_what_does(string method, string type)
    {
        ConnectAnswer answer = await ConnectFrames.PostAsync(
            _server, method, ConnectFrames.Texts("x"), type);

        Assert.Equal(HttpStatusCode.UnsupportedMediaType, answer.Status);
        Assert.Contains("application/connect+proto", answer.Header("Accept-Post"));
        Assert.Contains("application/json", answer.Header("Accept-Post"));
        Assert.StartsWith("""{"code":"invalid_argument""", answer.Text);
    }

    [Theory]
    [InlineData("Split", ConnectFrames.Json)]
    [InlineData("Say", "application/json")]
    public async Task Another_version_is_refused(string method, string type)
    {
        byte[] body = method == "Say" ? "{}"u8.ToArray() : ConnectFrames.Texts("x");

        ConnectAnswer answer = await ConnectFrames.PostAsync(
            _server, method, body, type, ("Connect-Protocol-Version", "2"));

        Assert.Contains("\"code\":\"invalid_argument\"", answer.Text);
        Assert.Contains("Connect-Protocol-Version", answer.Text);
    }

    [Theory]
    [InlineData("soon", "invalid_argument")]
    [InlineData("12345678901", "invalid_argument")]
    [InlineData("200", "deadline_exceeded")]
    public async Task A_time_ends_the_call_and_nonsense_is_refused(string time, string code)
    {
        ConnectAnswer answer = await ConnectFrames.PostAsync(
            _server, "Split", ConnectFrames.Texts("a wait"), headers: ("Connect-Timeout-Ms", time));

        Assert.Contains($"\"code\":\"{code}\"", answer.End);
    }

    [Fact]
    public async Task A_method_that_is_not_there_is_404_in_the_form_of_Connect()
    {
        ConnectAnswer answer = await ConnectFrames.PostAsync(
            _server, "Shout", ConnectFrames.Texts("x"), ConnectFrames.Json);

        Assert.Equal(HttpStatusCode.NotFound, answer.Status);
        Assert.StartsWith("""{"code":"unimplemented","message":""", answer.Text);
    }

    [Fact]
    public async Task Replies_come_while_requests_are_still_sent_over_HTTP_1()
    {
        using Socket socket = new(SocketType.Stream, ProtocolType.Tcp);
        using CancellationTokenSource patience = new(TimeSpan.FromSeconds(30));
        await socket.ConnectAsync(IPAddress.Loopback, _server.Endpoint.Port, patience.Token);
        await using NetworkStream stream = new(socket);
        byte[] one = ConnectFrames.Texts("one");
        await stream.WriteAsync(
            Encoding.ASCII.GetBytes(
                "POST /streams.Words/Chat HTTP/1.1\r\nHost: localhost\r\n"
                + $"Content-Type: {ConnectFrames.Json}\r\nTransfer-Encoding: chunked\r\n\r\n"
                + $"{one.Length:x}\r\n{Encoding.ASCII.GetString(one)}\r\n"), patience.Token);

        string answer = "";
        byte[] buffer = new byte[4096];
        while (!answer.Contains("one!", StringComparison.Ordinal))
        {
            int count = await stream.ReadAsync(buffer, patience.Token);
            Assert.NotEqual(0, count);
            answer += Encoding.ASCII.GetString(buffer, 0, count);
        }

        await stream.WriteAsync("0\r\n\r\n"u8.ToArray(), patience.Token);
        while (!answer.Contains("{}", StringComparison.Ordinal))
        {
            int count = await stream.ReadAsync(buffer, patience.Token);
            Assert.NotEqual(0, count);
            answer += Encoding.ASCII.GetString(buffer, 0, count);
        }
    }

    [Fact]
    public async Task A_handler_that_blocks_its_thread_gets_the_rest_of_the_requests()
    {
        using RpcServer server = RpcServer.Create(
            WordsServer.Schema, "streams.Words", new RpcServerOptions().WithHttp())
            .HandleStreaming("Join", (_, stream) =>
            {
                int count = 0;
                while (stream.ReadAsync().AsTask().GetAwaiter().GetResult() is not null)
                {
                    count++;
                }

                stream.WriteAsync(WordsServer.Text($"{count}")).AsTask().GetAwaiter().GetResult();
                return ValueTask.CompletedTask;
            })
            .AddEndpoint("http://127.0.0.1:0/");
        server.StartListening();
        using Socket socket = new(SocketType.Stream, ProtocolType.Tcp);
        using CancellationTokenSource patience = new(TimeSpan.FromSeconds(30));
        await socket.ConnectAsync(IPAddress.Loopback, server.Endpoints[0].Port, patience.Token);
        await using NetworkStream stream = new(socket);
        await stream.WriteAsync(
            Encoding.ASCII.GetBytes(
                "POST /streams.Words/Join HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
                + $"Content-Type: {ConnectFrames.Json}\r\nContent-Length: 14\r\n\r\n"), patience.Token);
        byte[] buffer = new byte[4096];

        // The server says this when the handler reads.
        int head = await stream.ReadAsync(buffer, patience.Token);
        Assert.StartsWith("HTTP/1.1 100", Encoding.ASCII.GetString(buffer, 0, head));
        await stream.WriteAsync(FrameBytes.Create(0, "{}"u8.ToArray()), patience.Token);
        await stream.WriteAsync(FrameBytes.Create(0, "{}"u8.ToArray()), patience.Token);

        string answer = "";
        while (!answer.Contains("\"2\"", StringComparison.Ordinal))
        {
            int count = await stream.ReadAsync(buffer, patience.Token);
            Assert.NotEqual(0, count);
            answer += Encoding.ASCII.GetString(buffer, 0, count);
        }
    }

    private static byte[] Gzip(byte[] bytes)
    {
        using MemoryStream target = new();
        using (GZipStream gzip = new(target, CompressionLevel.Optimal, leaveOpen: true))
        {
            gzip.Write(bytes);
        }

        return target.ToArray();
    }
}

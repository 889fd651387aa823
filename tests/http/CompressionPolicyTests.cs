using System.IO.Compression;
using System.Net;
using System.Net.Http.Headers;
using System.Security.Cryptography;
using Google.Protobuf;

namespace ProtoRpc.Http.Tests;

/// <summary>When replies and requests over HTTP are compressed, on both sides.</summary>
public static class CompressionPolicyTests
{
    private const string Search = "/ProtoService.SearchService/Search";
    private const string Binary = "application/x-protobuf";

    private static readonly RpcMessageInfo ReplyType = SearchServer.Schema.GetMessage("SearchResponse");

    [Theory]
    [InlineData(RpcReplyCompression.Automatic, null)]
    [InlineData(RpcReplyCompression.Never, null)]
    [InlineData(RpcReplyCompression.Always, "br")]
    public static async Task Replies_on_loopback_are_compressed_only_when_forced(
        RpcReplyCompression when, string? encoding)
    {
        using SearchServer server = new(new HttpServerOptions { ReplyCompression = when });

        using HttpResponseMessage response = await SendAsync(server.Http, new string('x', 5000));

        Assert.Equal(HttpStatusCode.OK, response.StatusCode);
        Assert.Equal(encoding, response.Content.Headers.ContentEncoding.SingleOrDefault());
    }

    [Theory]
    [InlineData(10)]
    [InlineData(900)]
    public static async Task Small_replies_are_never_compressed(int length)
    {
        using SearchServer server = new(
            new HttpServerOptions { ReplyCompression = RpcReplyCompression.Always });

        using HttpResponseMessage response = await SendAsync(server.Http, new string('x', length));

        Assert.Empty(response.Content.Headers.ContentEncoding);
    }

    [Fact]
    public static async Task Replies_that_do_not_shrink_are_sent_as_they_are()
    {
        DynamicMessage reply = DynamicMessage.Parse(ReplyType, RandomField(100_000));
        using RpcServer server = RpcServer.Create(
                SearchServer.Schema, null,
                new RpcServerOptions().WithHttp(new() { ReplyCompression = RpcReplyCompression.Always }))
            .Handle("Search", (_, _) => ValueTask.FromResult<IMessage>(reply))
            .AddEndpoint("http://127.0.0.1:0/")
            .StartListening();
        using HttpClient http = new() { BaseAddress = new Uri(server.Endpoints[0].Uri) };

        using HttpResponseMessage response = await SendAsync(http, "x");

        Assert.Equal(HttpStatusCode.OK, response.StatusCode);
        Assert.Empty(response.Content.Headers.ContentEncoding);
        Assert.Equal(reply.ToByteArray(), await response.Content.ReadAsByteArrayAsync());
    }

    [Theory]
    [InlineData(RpcReplyCompression.Automatic, RpcCompression.None, "http://127.0.0.1:1/", false)]
    [InlineData(RpcReplyCompression.Automatic, RpcCompression.None, "http://localhost:1/", false)]
    [InlineData(RpcReplyCompression.Automatic, RpcCompression.None, "http://[::1]:1/", false)]
    [InlineData(RpcReplyCompression.Automatic, RpcCompression.Gzip, "http://127.0.0.1:1/", true)]
    [InlineData(RpcReplyCompression.Automatic, RpcCompression.None, "http://search.example:1/", true)]
    [InlineData(RpcReplyCompression.Always, RpcCompression.None, "http://127.0.0.1:1/", true)]
    [InlineData(RpcReplyCompression.Never, RpcCompression.Gzip, "http://search.example:1/", false)]
    public static void Clients_ask_for_compressed_replies_where_that_pays(
        RpcReplyCompression when, RpcCompression compression, string endpoint, bool asks)
    {
        PlayedServer server = new([]);

        Call(server, endpoint, new() { ReplyCompression = when, Compression = compression }, [1]);

        Assert.Equal(asks, server.AcceptEncoding.Length > 0);
        Assert.Equal(asks ? "gzip, deflate, br" : "", server.AcceptEncoding);
    }

    [Theory]
    [InlineData(RpcCompression.Gzip, 5000, false, "gzip")]
    [InlineData(RpcCompression.Brotli, 5000, false, "br")]
    [InlineData(RpcCompression.Brotli, 5000, true, "")]
    [InlineData(RpcCompression.Gzip, 100, false, "")]
    [InlineData(RpcCompression.None, 5000, false, "")]
    public static void Requests_are_compressed_when_asked_and_when_they_shrink(
        RpcCompression compression, int length, bool isRandom, string encoding)
    {
        PlayedServer server = new([]);
        byte[] stamp = isRandom ? RandomNumberGenerator.GetBytes(length) : new byte[length];

        Call(server, "http://127.0.0.1:1/", new() { Compression = compression }, stamp);

        Assert.Equal(encoding, server.ContentEncoding);
    }

    [Theory]
    [InlineData("gzip")]
    [InlineData("br")]
    public static void A_compressed_reply_is_understood_unasked_and_stopped_at_the_limit(string encoding)
    {
        const int limit = 64 * 1024;
        RpcClientOptions options = new()
        {
            ReplyCompression = RpcReplyCompression.Never,
            Limits = new RpcLimits { MaxMessageBytes = limit },
        };
        PlayedServer small = new(Pack(encoding, new byte[0]), encoding);
        PlayedServer bomb = new(Pack(encoding, new byte[50 * 1024 * 1024]), encoding);
        long before = GC.GetAllocatedBytesForCurrentThread();

        Call(small, "http://127.0.0.1:1/", options, [1]);
        RpcException refused = Assert.Throws<RpcException>(
            () => Call(bomb, "http://127.0.0.1:1/", options, [1]));

        Assert.Equal(RpcStatusCode.ResourceExhausted, refused.Code);
        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 40 * limit);
    }

    private static async Task<HttpResponseMessage> SendAsync(HttpClient http, string query)
    {
        using ByteArrayContent body = new(SearchServer.Request(query));
        body.Headers.ContentType = new MediaTypeHeaderValue(Binary);
        using HttpRequestMessage request = new(HttpMethod.Post, Search) { Content = body };
        request.Headers.AcceptEncoding.ParseAdd("gzip, br");
        return await http.SendAsync(request);
    }

    private static void Call(PlayedServer server, string endpoint, RpcClientOptions options, byte[] stamp)
    {
        using RpcClient client = RpcClient.Connect(
            endpoint, SearchServer.Schema, options with { HttpHandler = () => server, Lazy = true });
        client.Invoke(
            "Search", new Dictionary<string, object?> { ["query"] = "x", ["stamp"] = stamp });
    }

    // A field that the type does not know, of random bytes.
    private static byte[] RandomField(int length)
    {
        using MemoryStream bytes = new();
        using CodedOutputStream output = new(bytes);
        output.WriteTag(1000, WireFormat.WireType.LengthDelimited);
        output.WriteBytes(ByteString.CopyFrom(RandomNumberGenerator.GetBytes(length)));
        output.Flush();
        return bytes.ToArray();
    }

    private static byte[] Pack(string encoding, byte[] plain)
    {
        using MemoryStream packed = new();
        using (Stream stream = encoding == "gzip"
            ? new GZipStream(packed, CompressionLevel.Optimal, leaveOpen: true)
            : new BrotliStream(packed, CompressionLevel.Optimal, leaveOpen: true))
        {
            stream.Write(plain);
        }

        return packed.ToArray();
    }

    /// <summary>Answers every request with the same bytes, and keeps what the request said.</summary>
    private sealed class PlayedServer(byte[] reply, string? encoding = null) : HttpMessageHandler
    {
        public string AcceptEncoding { get; private set; } = "";

        public string ContentEncoding { get; private set; } = "";

        protected override Task<HttpResponseMessage> SendAsync(
            HttpRequestMessage request, CancellationToken cancellationToken)
        {
            AcceptEncoding = request.Headers.AcceptEncoding.ToString();
            ContentEncoding = string.Join(", ", request.Content!.Headers.ContentEncoding);
            HttpResponseMessage answer = new() { Content = new ByteArrayContent(reply) };
            answer.Content.Headers.ContentType = new MediaTypeHeaderValue(Binary);
            if (encoding is not null)
            {
                answer.Content.Headers.ContentEncoding.Add(encoding);
            }

            return Task.FromResult(answer);
        }
    }
}

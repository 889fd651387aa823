using System.Text;

namespace ProtoRpc.Http.Tests;

/// <summary>Replies that are given, on endpoints with streams and with text formats.</summary>
public sealed class CannedReplyTests : IDisposable
{
    private readonly RpcServer _server = RpcServer.Create(
            WordsServer.Schema, "streams.Words", new RpcServerOptions().WithHttp())
        .Handle("Say", RpcMethodHandler.OfReplies(new { text = "always" }))
        .Handle("Split", RpcMethodHandler.OfReplies(new { text = "a" }, new { text = "b" }))
        .Handle("Join", RpcMethodHandler.OfReplies(new { text = "joined" }))
        .Handle("Chat", RpcMethodHandler.OfReplies(new { text = "1" }, new { text = "2" }))
        .AddEndpoint("grpc://127.0.0.1:0")
        .AddEndpoint("http://127.0.0.1:0/")
        .StartListening();

    [Theory]
    [InlineData("Say", "always")]
    [InlineData("Split", "a b")]
    [InlineData("Join", "joined")]
    [InlineData("Chat", "1 2")]
    public async Task Answer_methods_of_every_kind_over_grpc(string method, string expected)
    {
        using RpcClient client = RpcClient.Connect(_server.Endpoints[0], WordsServer.Schema, Words);

        List<string> replies = [];
        await foreach (DynamicMessage reply in client.InvokeDuplexStreamAsync(
            method, new[] { (object)new { text = "x" } }.ToAsyncEnumerable()))
        {
            replies.Add(WordsServer.TextOf(reply));
        }

        Assert.Equal(expected, string.Join(' ', replies));
    }

    [Fact]
    public async Task Compressed_replies_are_the_same()
    {
        using RpcClient client = RpcClient.Connect(
            _server.Endpoints[0], WordsServer.Schema, Words with { Compression = RpcCompression.Gzip });

        Assert.Equal("always", (await client.InvokeAsync("Say", new { text = "x" }))["text"]);
    }

    [Theory]
    [InlineData("Say", "application/json", "{\"text\":\"always\"}")]
    [InlineData("Say", "text/xml", "<text>always</text>")]
    [InlineData("Split", "application/json", "{\"text\":\"a\"}\n{\"text\":\"b\"}\n")]
    public async Task Are_written_in_the_format_that_the_caller_takes(
        string method, string accept, string expected)
    {
        using HttpClient http = new();
        using HttpRequestMessage request = new(
            HttpMethod.Post, new Uri($"{_server.Endpoints[1]}streams.Words/{method}"))
        {
            Content = new StringContent("{}", Encoding.UTF8, "application/json"),
        };
        request.Headers.Accept.ParseAdd(accept);

        using HttpResponseMessage response = await http.SendAsync(request);

        Assert.Contains(expected, await response.Content.ReadAsStringAsync(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Are_sent_as_bytes_to_callers_of_protobuf_over_http()
    {
        using RpcClient client = RpcClient.Connect(_server.Endpoints[1], WordsServer.Schema, Words);

        Assert.Equal("always", (await client.InvokeAsync("Say", new { text = "x" }))["text"]);
    }

    public void Dispose() => _server.Dispose();

    private static RpcClientOptions Words => new() { Service = "streams.Words" };
}

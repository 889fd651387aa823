using System.Net;

namespace ProtoRpc.Http.Tests;

public static class HandlerHeadersTests
{
    [Fact]
    public static async Task A_handler_reads_headers_and_sets_others()
    {
        using WordsServer server = new("http://127.0.0.1:0/");
        using HttpClient http = new(new SocketsHttpHandler { UseProxy = false });
        using HttpRequestMessage request = new(
            HttpMethod.Get, $"{server.Endpoint.Uri}streams.Words/Say?text=headers");
        request.Headers.Add("X-Asked", "something");

        using HttpResponseMessage response = await http.SendAsync(request);

        Assert.Equal(HttpStatusCode.OK, response.StatusCode);
        Assert.Equal("something", Assert.Single(response.Headers.GetValues("X-First")));
    }

    [Theory]
    [InlineData("Say")]
    [InlineData("Split")]
    public static async Task Headers_of_the_protocol_are_not_for_handlers(string method)
    {
        using RpcServer server = RpcServer.Create(
            WordsServer.Schema, "streams.Words", new RpcServerOptions().WithHttp())
            .Handle("Say", (context, request) =>
            {
                context.ReplyHeaders.Add("content-length", "1");
                return new(request);
            })
            .HandleStreaming("Split", async (context, stream) =>
            {
                context.ReplyHeaders.Add("transfer-encoding", "identity");
                await stream.WriteAsync(WordsServer.Text("x"));
            })
            .AddEndpoint("http://127.0.0.1:0/")
            .StartListening();

        using HttpResponseMessage response = await GetAsync(server, method);

        Assert.Equal(HttpStatusCode.InternalServerError, response.StatusCode);
        Assert.Contains(
            "the protocol reserves", await response.Content.ReadAsStringAsync(), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("Say")]
    [InlineData("Split")]
    public static async Task Headers_of_a_reply_that_cannot_be_written_are_sent_once(string method)
    {
        using RpcServer server = RpcServer.Create(
            WordsServer.Schema, "streams.Words",
            new RpcServerOptions { Limits = new RpcLimits { MaxMessageBytes = 64 * 1024 } }.WithHttp())
            .Handle("Say", (context, request) =>
            {
                context.ReplyHeaders.Add("x-id", "1");
                context.ReplyTrailers.Add("x-end", "2");
                return new(WordsServer.Text(new string('x', 100_000)));
            })
            .HandleStreaming("Split", async (context, stream) =>
            {
                context.ReplyHeaders.Add("x-id", "1");
                context.ReplyHeaders.Add("transfer-encoding", "identity");
                context.ReplyTrailers.Add("x-end", "2");
                await stream.WriteAsync(WordsServer.Text("x"));
            })
            .AddEndpoint("http://127.0.0.1:0/")
            .StartListening();

        using HttpResponseMessage response = await GetAsync(server, method);

        Assert.False(response.IsSuccessStatusCode);
        Assert.Equal(["1"], response.Headers.GetValues("X-Id"));
        Assert.Equal(["2"], response.Headers.GetValues("Trailer-X-End"));
    }

    private static async Task<HttpResponseMessage> GetAsync(RpcServer server, string method)
    {
        using HttpClient http = new(new SocketsHttpHandler { UseProxy = false });
        return await http.GetAsync(new Uri($"{server.Endpoints[0].Uri}streams.Words/{method}?text=x"));
    }
}

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
                context.ResponseHeaders.Add("content-length", "1");
                return new(request);
            })
            .HandleStreaming("Split", async (context, stream) =>
            {
                context.ResponseHeaders.Add("transfer-encoding", "identity");
                await stream.WriteAsync(WordsServer.Text("x"));
            })
            .AddEndpoint("http://127.0.0.1:0/")
            .StartListening();
        using HttpClient http = new(new SocketsHttpHandler { UseProxy = false });

        using HttpResponseMessage response =
            await http.GetAsync(new Uri($"{server.Endpoints[0].Uri}streams.Words/{method}?text=x"));

        Assert.Equal(HttpStatusCode.InternalServerError, response.StatusCode);
        Assert.Contains(
            "the protocol reserves", await response.Content.ReadAsStringAsync(), StringComparison.Ordinal);
    }
}

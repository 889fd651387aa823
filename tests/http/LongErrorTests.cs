using System.Net;

namespace ProtoRpc.Http.Tests;

public static class LongErrorTests
{
    private const int Cut = 16 * 1024;

    [Theory]
    [InlineData("application/json")]
    [InlineData("application/x-protobuf")]
    [InlineData("text/xml")]
    public static async Task The_text_of_an_error_is_cut_between_characters(string accept)
    {
        string begin = new('a', Cut - 1);
        using RpcServer server = RpcServer.Create(
            WordsServer.Schema, "streams.Words", new RpcServerOptions().WithHttp())
            .Handle("Say", (_, _) =>
                throw new RpcException(RpcStatusCode.NotFound, $"{begin}\U0001F600 and more"))
            .AddEndpoint("http://127.0.0.1:0/")
            .StartListening();
        using HttpClient http = new(new SocketsHttpHandler { UseProxy = false });
        using HttpRequestMessage request = new(
            HttpMethod.Get, $"{server.Endpoints[0].Uri}streams.Words/Say?text=x");
        request.Headers.Add("Accept", accept);

        using HttpResponseMessage response = await http.SendAsync(request);

        Assert.Equal(HttpStatusCode.NotFound, response.StatusCode);
        Assert.Contains($"{begin}...", await response.Content.ReadAsStringAsync(), StringComparison.Ordinal);
    }
}

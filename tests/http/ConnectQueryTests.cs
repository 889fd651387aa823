using System.IO.Compression;
using System.Net;
using System.Text;

namespace ProtoRpc.Http.Tests;

public static class ConnectQueryTests
{
    private const string Search = "/ProtoService.SearchService/Search?connect=v1";

    [Theory]
    [InlineData("&encoding=json&message=%7B%22query%22%3A%22a%20b%22%7D")]
    [InlineData("&message=%7B%22query%22:%22a+b%22%7D&base64=0&encoding=json")]
    [InlineData("&encoding=json&base64=1&message=eyJxdWVyeSI6ImEgYiJ9")]
    [InlineData("&encoding=json&base64=1&compression=identity&message=eyJxdWVyeSI6ImEgYiJ9")]
    public static async Task A_message_in_json_is_answered_in_json(string query)
    {
        using SearchServer server = new();

        (HttpStatusCode status, string mediaType, string text) = await server.GetAsync(Search + query);

        Assert.Equal(HttpStatusCode.OK, status);
        Assert.Equal("application/json", mediaType);
        Assert.Equal("""{"result":[{"url":"http://example.com/a b"}]}""", text);
    }

    [Theory]
    [InlineData("&encoding=proto&message=%0A%01x")]
    [InlineData("&encoding=proto&base64=1&message=CgF4")]
    [InlineData("&encoding=proto&base64=1&message=CgF4MgH_")]
    [InlineData("&encoding=proto&message=%0a%01x%32%01%ff")]
    public static async Task A_message_in_binary_is_answered_in_binary(string query)
    {
        using SearchServer server = new();

        using HttpResponseMessage response = await server.Http.GetAsync(Search + query);

        Assert.Equal("application/proto", response.Content.Headers.ContentType?.MediaType);
        Assert.Equal(
            SearchServer.Found("http://example.com/x").ToByteArray(),
            await response.Content.ReadAsByteArrayAsync());
    }

    [Theory]
    [InlineData("application/proto", null)]
    [InlineData("application/proto", "*/*")]
    [InlineData("application/protobuf", "*/*")]
    [InlineData("application/json", null)]
    public static async Task A_post_is_answered_with_the_type_of_the_request(string type, string? accept)
    {
        using SearchServer server = new();
        using HttpRequestMessage request = new(HttpMethod.Post, Search[..Search.IndexOf('?')])
        {
            Content = new ByteArrayContent(
                type == "application/json" ? """{"query":"x"}"""u8.ToArray() : SearchServer.Request("x")),
        };
        request.Content.Headers.TryAddWithoutValidation("Content-Type", type);
        request.Headers.Add("Connect-Protocol-Version", "1");
        if (accept is not null)
        {
            request.Headers.Add("Accept", accept);
        }

        using HttpResponseMessage response = await server.Http.SendAsync(request);

        Assert.Equal(HttpStatusCode.OK, response.StatusCode);
        Assert.Equal(type, response.Content.Headers.ContentType?.MediaType);
    }

    [Fact]
    public static async Task A_message_may_be_compressed()
    {
        using SearchServer server = new();
        using MemoryStream compressed = new();
        using (GZipStream gzip = new(compressed, CompressionLevel.Optimal, leaveOpen: true))
        {
            gzip.Write(Encoding.UTF8.GetBytes($$"""{"query":"{{new string('x', 5000)}}"}"""));
        }

        string message = Convert.ToBase64String(compressed.ToArray())
            .Replace('+', '-')
            .Replace('/', '_')
            .TrimEnd('=');
        (HttpStatusCode status, _, string text) =
            await server.GetAsync($"{Search}&encoding=json&base64=1&compression=gzip&message={message}");

        Assert.Equal(HttpStatusCode.OK, status);
        Assert.Contains(new string('x', 5000), text, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("?connect=v2&encoding=json&message=%7B%7D", 400)]
    [InlineData("?connect=v1&message=%7B%7D", 400)]
    [InlineData("?connect=v1&encoding=xml&message=%7B%7D", 415)]
    [InlineData("?connect=v1&encoding=json", 400)]
    [InlineData("?connect=v1&encoding=json&message=%7B", 400)]
    [InlineData("?connect=v1&encoding=json&message=%7B%7D&message=%7B%7D", 400)]
    [InlineData("?connect=v1&encoding=json&base64=1&message=%7B%7D", 400)]
    [InlineData("?connect=v1&encoding=json&base64=1&compression=gzip&message=eyJx", 400)]
    [InlineData("?connect=v1&encoding=json&base64=1&compression=zip&message=eyJx", 501)]
    public static async Task What_is_wrong_is_said_in_json_of_that_protocol(string query, int status)
    {
        using SearchServer server = new();

        (HttpStatusCode given, string mediaType, string text) =
            await server.GetAsync($"/ProtoService.SearchService/Search{query}");

        Assert.Equal(status, (int)given);
        Assert.Equal("application/json", mediaType);
        Assert.Matches("^{\"code\":\"(invalid_argument|unimplemented)\",\"message\":\"", text);
        server.Server.RequireCounts(counts => counts.InFlight == 0);
    }
}

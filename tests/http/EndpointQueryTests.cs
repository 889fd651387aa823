using System.Net;

namespace ProtoRpc.Http.Tests;

/// <summary>The query of an endpoint of a client.</summary>
public static class EndpointQueryTests
{
    [Theory]
    [InlineData("http://127.0.0.1:1/path?api-version=2&a=b/c", "/path/ProtoService.SearchService/Search")]
    [InlineData("http://127.0.0.1:1?api-version=2&a=b/c", "/ProtoService.SearchService/Search")]
    [InlineData("http://127.0.0.1:1/search.proto?api-version=2&a=b/c", "/search.proto/Search")]
    public static async Task Every_request_has_the_query(string endpoint, string path)
    {
        List<Uri> requests = [];
        RpcClientOptions options = new() { HttpHandler = () => new Recorder(requests), RetryCount = 0 };
        using RpcClient client = RpcClient.Connect(endpoint, SearchServer.Schema, options);

        await client.PingAsync();
        await client.InvokeAsync("Search", new { query = "x" });

        Assert.True(requests.Count >= 3);
        Assert.All(requests, request => Assert.Equal("?api-version=2&a=b/c", request.Query));
        Assert.Equal(path, requests[^1].AbsolutePath);
    }

    [Theory]
    [InlineData("http://127.0.0.1:0/path?api-version=2", "'?api-version=2'")]
    [InlineData("http://127.0.0.1:0?x", "'?x'")]
    public static void A_listener_has_no_query(string endpoint, string query)
    {
        using RpcServer server = RpcServer.Create(
            SearchServer.Schema, null, new RpcServerOptions().WithHttp()).AddEndpoint(endpoint);

        RpcException error = Assert.Throws<RpcException>(server.StartListening);

        Assert.Equal(RpcErrorIds.InvalidEndpoint, error.ErrorId);
        Assert.Contains(query, error.Message, StringComparison.Ordinal);
    }

    private sealed class Recorder(List<Uri> requests) : HttpMessageHandler
    {
        protected override Task<HttpResponseMessage> SendAsync(
            HttpRequestMessage request, CancellationToken cancellationToken)
        {
            requests.Add(request.RequestUri!);
            HttpResponseMessage response = new(HttpStatusCode.OK) { Content = new ByteArrayContent([]) };
            response.Content.Headers.TryAddWithoutValidation("Content-Type", "application/x-protobuf");
            return Task.FromResult(response);
        }
    }
}

using System.Net.Sockets;

namespace ProtoRpc.Http.Tests;

/// <summary>A server that closes a connection while it is made. .NET's HTTP client then asks the socket for
/// the server's address, and throws its exception bare.</summary>
public static class BrokenConnectTests
{
    [Fact]
    public static async Task A_call_is_unavailable()
    {
        using RpcClient client = RpcClient.Connect(
            "http://127.0.0.1:1/", SearchServer.Schema,
            new RpcClientOptions { HttpHandler = () => new ClosedSocket(), Lazy = true });

        RpcException blocking = Assert.Throws<RpcException>(
            () => client.Invoke("Search", new { query = "x" }));
        RpcException waiting = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync("Search", new { query = "x" }));
        RpcException ping = await Assert.ThrowsAsync<RpcException>(() => client.PingAsync());

        Assert.Equal(RpcStatusCode.Unavailable, blocking.Code);
        Assert.Equal(RpcStatusCode.Unavailable, waiting.Code);
        Assert.Equal(RpcStatusCode.Unavailable, ping.Code);
        Assert.IsType<SocketException>(waiting.InnerException);
    }

    [Fact]
    public static void A_schema_is_unavailable()
    {
        RpcException error = Assert.Throws<RpcException>(() => RpcHttpSchema.Load(
            new Uri("http://127.0.0.1:1/words.proto"),
            new RpcClientOptions { HttpHandler = () => new ClosedSocket() }));

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
        Assert.IsType<SocketException>(error.InnerException);
    }

    private sealed class ClosedSocket : HttpMessageHandler
    {
        protected override Task<HttpResponseMessage> SendAsync(
            HttpRequestMessage request, CancellationToken cancellationToken) =>
            Task.FromException<HttpResponseMessage>(new SocketException((int)SocketError.NotConnected));
    }
}

using System.Net;
using System.Net.Sockets;
using System.Text;

namespace ProtoRpc.Tests.Client.Http;

/// <summary>The header Host of a client that calls a server by its address and names it by its
/// host.</summary>
public static class HostHeaderTests
{
    [Fact]
    public static async Task It_has_the_port_of_the_endpoint()
    {
        using TcpListener listener = new(IPAddress.Loopback, 0);
        listener.Start();
        int port = ((IPEndPoint)listener.LocalEndpoint).Port;
        Task<string> serving = AnswerAsync(listener);

        using RpcClient client = RpcClient.Connect(
            [RpcEndpoint.Parse($"http://localhost:{port}/")], RpcLoadBalancing.PickFirst, EchoServer.Schema,
            new RpcClientOptions { Service = "calls.Echo" });

        Assert.Contains($"\r\nHost: localhost:{port}\r\n", await serving);
    }

    private static async Task<string> AnswerAsync(TcpListener listener)
    {
        using TcpClient peer = await listener.AcceptTcpClientAsync();
        byte[] request = new byte[4096];
        int count = await peer.GetStream().ReadAsync(request);
        await peer.GetStream().WriteAsync(
            "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"u8.ToArray());
        return Encoding.ASCII.GetString(request, 0, count);
    }
}

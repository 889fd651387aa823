using System.Net.Sockets;
using ProtoRpc.Transports;

namespace ProtoRpc.Tests.Transports;

public static class ReceiveSpinTests
{
    [Fact]
    public static async Task Waiting_takes_no_bytes_and_is_rare_where_nothing_comes()
    {
        using Socket listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new System.Net.IPEndPoint(System.Net.IPAddress.Loopback, 0));
        listener.Listen();
        using Socket client = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await client.ConnectAsync(listener.LocalEndPoint!);
        using Socket server = await listener.AcceptAsync();
        ReceiveSpin spin = new();
        int waited = 0;

        for (int i = 0; i < 100_000; i++)
        {
            waited += spin.Wait(server) ? 1 : 0;
        }

        Assert.InRange(waited, 0, 500);
        client.Send([1, 2, 3]);
        await Eventually.TrueAsync(() => server.Available == 3, "the bytes are there");
        spin.Wait(server);
        Assert.Equal(3, server.Receive(new byte[8]));
    }
}

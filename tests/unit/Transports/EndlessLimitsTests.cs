using System.Net;
using System.Net.Sockets;
using ProtoRpc.Client.Native;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Server.Native;
using ProtoRpc.Tests.Protocols.Dce;
using ProtoRpc.Transports;

namespace ProtoRpc.Tests.Transports;

/// <summary>Limits that are InfiniteTimeSpan, which a comparison takes for less than nothing.</summary>
public static class EndlessLimitsTests
{
    [Fact]
    public static async Task Connections_that_may_be_idle_and_slow_for_ever_are_kept()
    {
        await using TestServer server = TestServer.Echoing("tcp", new RpcLimits
        {
            IdleTimeout = Timeout.InfiniteTimeSpan,
            FragmentTimeout = Timeout.InfiniteTimeSpan,
            BindTimeout = TimeSpan.FromMilliseconds(500),
        });
        using NativeConnectionPool idle = server.Connect();
        Assert.Equal("one"u8.ToArray(), idle.Call("one"u8));
        using RawPeer slow = RawPeer.Bound(server);
        byte[] request = Conversation.Request("two"u8);
        slow.Send(request.AsSpan(0, 20));

        // The watch has looked at all of them when it cuts off the one that does not bind.
        using RawPeer silent = new(server.Endpoint);
        Assert.Empty(silent.ReadToEnd());
        long accepted = server.Listener.AcceptedCount;

        slow.Send(request.AsSpan(20));
        Assert.Equal(PduType.Response, PduHeader.Read(slow.ReadPdu()).Type);
        Assert.Equal("three"u8.ToArray(), idle.Call("three"u8));
        Assert.Equal(accepted, server.Listener.AcceptedCount);
    }

    [Fact]
    public static async Task A_connection_that_may_take_for_ever_to_bind_is_kept()
    {
        await using TestServer server = TestServer.Echoing("tcp", new RpcLimits
        {
            BindTimeout = Timeout.InfiniteTimeSpan,
            IdleTimeout = TimeSpan.FromMilliseconds(500),
        });
        using RawPeer silent = new(server.Endpoint);
        using RawPeer idle = RawPeer.Bound(server);
        Assert.Equal(PduType.Shutdown, PduHeader.Read(idle.ReadToEnd()).Type);

        silent.Send(Conversation.Bind(service: server.InterfaceId));

        Assert.Equal(PduType.BindAck, PduHeader.Read(silent.ReadPdu()).Type);
    }

    [Fact]
    public static void A_session_that_may_be_idle_for_ever_is_kept()
    {
        using SessionTable table = new(new RpcLimits { SessionIdleTimeout = Timeout.InfiniteTimeSpan });
        table.Release(table.Use(id: null, "ann"));

        table.Sweep();

        Assert.Single(table.Sessions);
    }

    [Fact]
    public static void A_message_whose_parts_may_take_for_ever_is_kept()
    {
        long now = 0;
        using Transfer transfer = new("ann", "Send", 100, 100, new RequestMemory(long.MaxValue), () => now);

        now = long.MaxValue / 2;

        Assert.False(transfer.IsAbandoned(Timeout.InfiniteTimeSpan));
        Assert.True(transfer.IsAbandoned(TimeSpan.FromDays(1)));
    }

    // A full queue of connections lets further ones wait on Linux.
    [Fact]
    public static void Connecting_without_a_limit_goes_on_until_it_is_cancelled()
    {
        if (!OperatingSystem.IsLinux())
        {
            return;
        }

        using Socket full = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        full.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        full.Listen(0);
        int port = ((IPEndPoint)full.LocalEndPoint!).Port;
        List<Socket> filling = [];
        try
        {
            for (int i = 0; i < 4; i++)
            {
                Socket one = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
                filling.Add(one);
                _ = one.ConnectAsync(IPAddress.Loopback, port);
            }

            using CancellationTokenSource cancel = new(TimeSpan.FromMilliseconds(500));

            RpcException e = Assert.Throws<RpcException>(() => new TcpTransport().Connect(
                RpcEndpoint.Parse($"tcp://127.0.0.1:{port}"), null, Timeout.InfiniteTimeSpan, cancel.Token));

            Assert.Equal(RpcStatusCode.Cancelled, e.Code);
        }
        finally
        {
            filling.ForEach(socket => socket.Dispose());
        }
    }
}

using System.Net;
using System.Net.Sockets;
using ProtoRpc.Transports;

namespace ProtoRpc.Tests.Transports;

/// <summary>Receives that another thread ends. On Windows, shutting a socket down does not end one that
/// waits.</summary>
public static class SocketConnectionTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public static async Task A_receive_that_is_stopped_gets_0_and_sending_goes_on(bool blocking)
    {
        using Pair pair = new();
        Task<int> receive = pair.ReceiveAsync(blocking);

        pair.Connection.StopReceiving();

        Assert.Equal(0, await receive.WaitAsync(Patience));
        Assert.Equal(0, await pair.ReceiveAsync(blocking).WaitAsync(Patience));
        byte[] told = new byte[3];
        if (blocking)
        {
            pair.Connection.Send(new byte[] { 1, 2, 3 });
        }
        else
        {
            await pair.Connection.SendAsync(new byte[] { 1, 2, 3 }, default);
        }

        pair.Peer.ReceiveTimeout = (int)Patience.TotalMilliseconds;
        Assert.Equal(3, pair.Peer.Receive(told));
        Assert.Equal([1, 2, 3], told);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public static async Task A_receive_from_a_silent_peer_ends_when_the_connection_is_aborted(bool blocking)
    {
        using Pair pair = new();
        Task<int> receive = pair.ReceiveAsync(blocking);

        pair.Connection.Abort();

        await Task.WhenAny(receive, Task.Delay(Patience));
        Assert.True(receive.IsCompleted);
        Assert.True(receive.IsFaulted
            ? TransportConnection.IsBroken(receive.Exception!.InnerException!)
            : await receive == 0);
    }

    [Fact]
    public static async Task A_send_to_a_deaf_peer_ends_when_the_connection_is_aborted()
    {
        using Pair pair = new();
        Task send = Task.Factory.StartNew(
            () => pair.Connection.Send(new byte[64 << 20]), TaskCreationOptions.LongRunning);
        await Eventually.TrueAsync(() => pair.Peer.Available > 0, "it sends");

        pair.Connection.Abort();

        Exception? end = await Record.ExceptionAsync(() => send.WaitAsync(Patience));
        Assert.True(end is not null && TransportConnection.IsBroken(end), $"{end}");
    }

    private sealed class Pair : IDisposable
    {
        public Pair()
        {
            using Socket listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
            listener.Listen();
            Peer = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            Peer.Connect(listener.LocalEndPoint!);
            Connection = new SocketConnection(listener.Accept());
        }

        public Socket Peer { get; }

        public SocketConnection Connection { get; }

        // Begins on another thread, which most often waits already when the test goes on.
        public Task<int> ReceiveAsync(bool blocking) => blocking
            ? Task.Factory.StartNew(
                () => Connection.Receive(new byte[16]), TaskCreationOptions.LongRunning)
            : Connection.ReceiveAsync(new byte[16], default).AsTask();

        public void Dispose()
        {
            Connection.Dispose();
            Peer.Dispose();
        }
    }
}

using System.Net;
using System.Net.Sockets;

namespace ProtoRpc.Interop;

/// <summary>Passes one TCP connection on to a server and keeps what was said.</summary>
internal sealed class RecordingRelay : IDisposable
{
    private readonly Socket _listener = NewSocket();
    private readonly Lock _gate = new();
    private readonly List<(bool FromClient, byte[] Bytes)> _said = [];
    private readonly Task _relaying;

    public RecordingRelay(int serverPort)
    {
        _listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        _listener.Listen();
        _relaying = RelayAsync(serverPort);
    }

    public int Port => ((IPEndPoint)_listener.LocalEndPoint!).Port;

    /// <summary>Waits for the connection's end.</summary>
    public async Task<IReadOnlyList<(bool FromClient, byte[] Bytes)>> WaitAsync()
    {
        await _relaying.WaitAsync(TimeSpan.FromSeconds(30));
        return _said;
    }

    public void Dispose() => _listener.Dispose();

    private static Socket NewSocket() =>
        new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = false };

    private async Task RelayAsync(int serverPort)
    {
        using Socket client = await _listener.AcceptAsync();
        using Socket server = NewSocket();
        await server.ConnectAsync(IPAddress.Loopback, serverPort);
        await Task.WhenAll(CopyAsync(client, server, true), CopyAsync(server, client, false));
    }

    private async Task CopyAsync(Socket from, Socket to, bool fromClient)
    {
        byte[] buffer = new byte[1400];
        try
        {
            for (int count = await from.ReceiveAsync(buffer);
                count > 0; count = await from.ReceiveAsync(buffer))
            {
                lock (_gate)
                {
                    _said.Add((fromClient, buffer[..count]));
                }

                await to.SendAsync(buffer.AsMemory(0, count));
            }

            to.Shutdown(SocketShutdown.Send);
        }
        catch (SocketException)
        {
            // One side is gone: everything is said.
        }
    }
}

using System.Net;
using System.Net.Sockets;

namespace ProtoRpc.TestServers;

/// <summary>A port of 127.0.0.1 that is bound, so that no other program gets it, and at which nothing
/// listens: connections to it are refused.</summary>
internal sealed class ClosedPort : IDisposable
{
    private readonly Socket _socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);

    /// <summary>Binds a port that is free.</summary>
    public ClosedPort() => _socket.Bind(new IPEndPoint(IPAddress.Loopback, 0));

    /// <summary>The number of the port.</summary>
    public int Number => ((IPEndPoint)_socket.LocalEndPoint!).Port;

    /// <summary>Finds a free port for a server that must know its port before it starts. Until then, another
    /// program could take it.</summary>
    public static int FindFree()
    {
        using ClosedPort port = new();
        return port.Number;
    }

    /// <summary>Frees the port.</summary>
    public void Dispose() => _socket.Dispose();
}

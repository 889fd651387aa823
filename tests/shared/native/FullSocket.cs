using System.Net;
using System.Net.Sockets;

namespace ProtoRpc.TestServers;

/// <summary>A Unix socket of Linux that does not accept, with as many connections as its queue
/// takes.</summary>
internal sealed class FullSocket : IDisposable
{
    private readonly Socket _listening = NewSocket();
    private readonly List<Socket> _waiting = [];

    public FullSocket(string path)
    {
        UnixDomainSocketEndPoint address = new(path);
        _listening.Bind(address);
        _listening.Listen(0);
        while (Knock(address))
        {
        }
    }

    /// <summary>Accepts those that wait, and closes their connections.</summary>
    public void AcceptWaiting()
    {
        foreach (Socket _ in _waiting)
        {
            _listening.Accept().Dispose();
        }
    }

    public Socket Accept() => _listening.Accept();

    public void Dispose()
    {
        _waiting.ForEach(socket => socket.Dispose());
        _listening.Dispose();
    }

    private static Socket NewSocket() =>
        new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);

    private bool Knock(EndPoint address)
    {
        Socket socket = NewSocket();
        socket.Blocking = false;
        try
        {
            socket.Connect(address);
            _waiting.Add(socket);
            return true;
        }
        catch (SocketException e) when (e.SocketErrorCode == SocketError.WouldBlock)
        {
            socket.Dispose();
            return false;
        }
    }
}

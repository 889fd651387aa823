using System.Net;
using System.Net.Sockets;

namespace ProtoRpc.Benchmarks.Transport;

/// <summary>The sockets of the yardsticks: a path for a Unix socket, or an address with its port for
/// TCP.</summary>
internal static class BareSockets
{
    /// <summary>Connects to an address that <see cref="Serve"/> returned.</summary>
    public static Socket Connect(string address)
    {
        EndPoint endPoint = Parse(address);
        Socket socket = Open(endPoint);
        socket.Connect(endPoint);
        return socket;
    }

    /// <summary>Runs a blocking thread for each connection until the process ends.</summary>
    /// <returns>The address as bound.</returns>
    public static string Serve(string address, Action<Socket> answer)
    {
        EndPoint endPoint = Parse(address);
        Socket listener = Open(endPoint);
        listener.Bind(endPoint);
        listener.Listen();
        Thread accepting = new(() =>
        {
            while (true)
            {
                Socket socket = listener.Accept();
                if (endPoint is IPEndPoint)
                {
                    socket.NoDelay = true;
                }

                new Thread(() => Answer(socket, answer)) { IsBackground = true }.Start();
            }
        })
        {
            IsBackground = true,
        };
        accepting.Start();
        return listener.LocalEndPoint is IPEndPoint bound ? $"{bound}" : address;
    }

    private static void Answer(Socket socket, Action<Socket> answer)
    {
        try
        {
            answer(socket);
        }
        catch (SocketException)
        {
            // The caller ended in the middle of a call.
        }
    }

    private static EndPoint Parse(string address) => address.Contains('/') || address.Contains('\\')
        ? new UnixDomainSocketEndPoint(address)
        : IPEndPoint.Parse(address);

    private static Socket Open(EndPoint endPoint) => endPoint is IPEndPoint
        ? new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true }
        : new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
}

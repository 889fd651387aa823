using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using ProtoRpc.Fuzz.Engine;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>One connection over which bytes go as they are.</summary>
internal static class BareConnection
{
    // Of a listener that has nothing more to say.
    private static readonly TimeSpan Silence = TimeSpan.FromMilliseconds(12);

    /// <summary>More than every time limit of the listener together.</summary>
    public static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    /// <summary>Sends bytes, reads until the listener is silent or hangs up, then ends the sending and reads
    /// to the end.</summary>
    /// <param name="port">The listener's port on loopback.</param>
    /// <param name="bytes">What is sent.</param>
    /// <param name="isAnswered">Whether what came so far is all that can be expected.</param>
    /// <param name="silence">How long a silent listener has more to say; null for milliseconds, which suit
    /// requests that may have no end.</param>
    /// <exception cref="InvariantException">The listener does not hang up.</exception>
    public static byte[] Exchange(
        int port, byte[] bytes, Func<List<byte>, bool> isAnswered, TimeSpan? silence = null)
    {
        using Socket socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp)
        {
            NoDelay = true,
            // Tens of thousands of connections leave no closed ones behind.
            LingerState = new LingerOption(true, 0),
        };
        socket.Connect(new IPEndPoint(IPAddress.Loopback, port));
        List<byte> answer = [];
        try
        {
            socket.Send(bytes);
            while (!isAnswered(answer) && socket.Poll(silence ?? Silence, SelectMode.SelectRead))
            {
                if (!Receive(socket, answer))
                {
                    return [.. answer];
                }
            }

            socket.Shutdown(SocketShutdown.Send);
            Stopwatch watch = Stopwatch.StartNew();
            while (socket.Poll(Patience, SelectMode.SelectRead) && Receive(socket, answer))
            {
            }

            return watch.Elapsed < Patience
                ? [.. answer]
                : throw new InvariantException("a connection ends when the client has ended it");
        }
        catch (SocketException e) when (
            e.SocketErrorCode is SocketError.ConnectionReset or SocketError.Shutdown
                or SocketError.ConnectionAborted or SocketError.NotConnected)
        {
            // A listener that refuses does not wait for the rest.
            return [.. answer];
        }
    }

    private static bool Receive(Socket socket, List<byte> answer)
    {
        Span<byte> buffer = stackalloc byte[8192];
        int count = socket.Receive(buffer);
        answer.AddRange(buffer[..count]);
        return count > 0;
    }
}

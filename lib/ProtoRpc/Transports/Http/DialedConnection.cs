using System.Net.Security;
using System.Net.Sockets;

namespace ProtoRpc.Transports.Http;

/// <summary>A connection that was made and not used yet.</summary>
/// <param name="socket">Below the stream; disposed of with it.</param>
/// <param name="stream">For HTTP.</param>
internal sealed class DialedConnection(Socket socket, Stream stream) : IDisposable
{
    // RFC 9113, section 4.1: behind three octets of length. A server says goodbye first of all when it is
    // stopped before anybody has spoken.
    private const int FrameType = 3;
    private const byte GoAway = 0x7;

    /// <summary>For HTTP.</summary>
    public Stream Stream => stream;

    /// <summary>Whether the server has hung up in the meantime, so that a call over it would be lost. Under
    /// TLS a goodbye cannot be seen.</summary>
    public bool HasEnded
    {
        get
        {
            if (!socket.Poll(TimeSpan.Zero, SelectMode.SelectRead))
            {
                return false;
            }

            Span<byte> head = stackalloc byte[FrameType + 1];
            int count = socket.Receive(head, SocketFlags.Peek, out SocketError error);
            return error != SocketError.Success || count == 0
                || (stream is not SslStream && count == head.Length && head[FrameType] == GoAway);
        }
    }

    public void Dispose() => stream.Dispose();
}

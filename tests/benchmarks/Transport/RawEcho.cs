using System.Buffers.Binary;
using System.Net.Sockets;

namespace ProtoRpc.Benchmarks.Transport;

/// <summary>The yardstick: frames of a given size over a bare socket,
/// a blocking thread at each end.</summary>
internal sealed class RawEcho : ICaller
{
    // A frame begins with its own length.
    private const int Prefix = sizeof(int);

    private readonly Socket _socket;
    private readonly byte[] _request;
    private readonly byte[] _reply;

    private RawEcho(Socket socket, WireSize size)
    {
        _socket = socket;
        _request = Frame(size.Request);
        _reply = new byte[size.Reply];
    }

    /// <summary>Connects to what <see cref="Serve"/> returned.</summary>
    public static RawEcho Connect(string address, WireSize size) => new(BareSockets.Connect(address), size);

    public void Call()
    {
        _socket.Send(_request);
        int read = 0;
        while (read < _reply.Length)
        {
            int count = _socket.Receive(_reply, read, _reply.Length - read, SocketFlags.None);
            read += count > 0 ? count : throw new IOException("The raw server closed the connection.");
        }
    }

    public void Dispose() => _socket.Dispose();

    /// <summary>Answers every frame with a frame of the reply's size, a thread for each connection.</summary>
    /// <returns>The address as bound.</returns>
    public static string Serve(string address, WireSize size) =>
        BareSockets.Serve(address, socket => Answer(socket, size));

    private static void Answer(Socket socket, WireSize size)
    {
        byte[] buffer = new byte[Math.Max(size.Request, Prefix)];
        byte[] reply = Frame(size.Reply);
        while (true)
        {
            int read = 0;
            while (read < Prefix || read < BinaryPrimitives.ReadInt32LittleEndian(buffer))
            {
                int count = socket.Receive(buffer, read, buffer.Length - read, SocketFlags.None);
                if (count == 0)
                {
                    socket.Dispose();
                    return;
                }

                read += count;
            }

            socket.Send(reply);
        }
    }

    private static byte[] Frame(int size)
    {
        byte[] frame = new byte[size];
        BinaryPrimitives.WriteInt32LittleEndian(frame, size);
        return frame;
    }
}

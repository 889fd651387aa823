using System.Buffers.Binary;
using System.Net.Sockets;
using Google.Protobuf;
using ProtoRpc.Benchmarks.Messages;

namespace ProtoRpc.Benchmarks.Transport;

/// <summary>The bound: what an ideal RPC of Protocol Buffers costs. Generated messages are made, encoded and
/// decoded on both sides, and travel over a bare socket behind their length. A blocking thread at each
/// end.</summary>
/// <remarks>Buffers are kept, and required fields are not checked: the check of Google.Protobuf walks through
/// descriptors, which ideal code would not.</remarks>
internal sealed class BoundEcho : ICaller
{
    private readonly FramedSocket _socket;
    private readonly int _records;

    private BoundEcho(FramedSocket socket, int records)
    {
        _socket = socket;
        _records = records;
    }

    /// <summary>Connects to what <see cref="Serve"/> returned.</summary>
    public static BoundEcho Connect(string address, int records) =>
        new(new FramedSocket(BareSockets.Connect(address)), records);

    public void Call()
    {
        SampleRequest request = new();
        FreshRecords.Fill(request.Data, _records);
        _socket.Send(request);
        SampleResponse reply = new();
        if (!_socket.TryReceive(reply))
        {
            throw new IOException("The bound's server closed the connection.");
        }

        if (reply.Data.Count != _records)
        {
            throw new InvalidDataException($"The reply has {reply.Data.Count} records, not {_records}.");
        }
    }

    public void Dispose() => _socket.Dispose();

    /// <summary>Answers each request with a new message, a thread for each connection.</summary>
    /// <returns>The address as bound.</returns>
    public static string Serve(string address, int records) => BareSockets.Serve(
        address, socket =>
        {
            using FramedSocket framed = new(socket);
            SampleRequest request = new();
            while (framed.TryReceive(request))
            {
                SampleResponse reply = new();
                FreshRecords.Fill(reply.Data, records);
                framed.Send(reply);
                request = new SampleRequest();
            }
        });

    // A message behind its length, and the buffers of one connection.
    private sealed class FramedSocket(Socket socket) : IDisposable
    {
        private const int Prefix = sizeof(int);
        private const int InitialSize = 4096;

        private byte[] _output = new byte[InitialSize];
        private byte[] _input = new byte[InitialSize];

        public void Send(IMessage message)
        {
            int size = message.CalculateSize();
            int length = Prefix + size;
            Grow(ref _output, length);
            BinaryPrimitives.WriteInt32LittleEndian(_output, size);
            message.WriteTo(_output.AsSpan(Prefix, size));
            for (int sent = 0; sent < length;)
            {
                sent += socket.Send(_output, sent, length - sent, SocketFlags.None);
            }
        }

        public bool TryReceive(IMessage message)
        {
            int read = 0;
            int length = Prefix;
            while (read < length)
            {
                int count = socket.Receive(_input, read, _input.Length - read, SocketFlags.None);
                if (count == 0)
                {
                    return false;
                }

                read += count;
                if (read >= Prefix)
                {
                    length = Prefix + BinaryPrimitives.ReadInt32LittleEndian(_input);
                    Grow(ref _input, length);
                }
            }

            message.MergeFrom(_input.AsSpan(Prefix, length - Prefix));
            return true;
        }

        public void Dispose() => socket.Dispose();

        private static void Grow(ref byte[] buffer, int length)
        {
            if (buffer.Length < length)
            {
                Array.Resize(ref buffer, Math.Max(length, buffer.Length * 2));
            }
        }
    }
}

using System.Buffers.Binary;
using System.Net.Sockets;
using System.Text;

namespace ProtoRpc.Tests.Client.Grpc;

/// <summary>One connection of a client to <see cref="Http2Peer"/>: frames as the test wants them.</summary>
/// <param name="number">The first one is 1.</param>
/// <param name="stream">What goes over it.</param>
internal sealed class Http2PeerConnection(int number, Stream stream)
{
    private const byte Data = 0x0;
    private const byte Headers = 0x1;
    private const byte RstStream = 0x3;
    private const byte Settings = 0x4;
    private const byte Ping = 0x6;
    private const byte GoAwayType = 0x7;
    private const byte Continuation = 0x9;
    private const byte EndStream = 0x1;
    private const byte EndHeaders = 0x4;
    private const byte Ack = 0x1;
    private const int PrefaceLength = 24;

    // As large as a frame may be when nothing else was agreed upon.
    private const int MaxFrame = 16 * 1024;

    private int _pings;

    /// <summary>Which connection it is: the first one is 1.</summary>
    public int Number => number;

    /// <summary>How many pings have come.</summary>
    public int Pings => Volatile.Read(ref _pings);

    public async Task SendHeadersAsync(int id, bool end, params (string Name, string Value)[] headers)
    {
        List<byte> block = [];
        foreach ((string name, string value) in headers)
        {
            // A literal that is not indexed, with its name.
            block.Add(0);
            AddText(block, name);
            AddText(block, value);
        }

        byte type = Headers;
        int flags = end ? EndStream : 0;
        byte[][] parts = [.. block.Chunk(MaxFrame)];
        foreach (byte[] part in parts)
        {
            await SendAsync(type, (byte)(part == parts[^1] ? flags | EndHeaders : flags), id, part);
            type = Continuation;
            flags = 0;
        }
    }

    /// <summary>The headers that every good reply begins with.</summary>
    public Task SendGoodHeadersAsync(int id, params (string Name, string Value)[] more) => SendHeadersAsync(
        id, end: false, [(":status", "200"), ("content-type", "application/grpc"), .. more]);

    public Task SendDataAsync(int id, byte[] bytes, bool end = false) =>
        SendAsync(Data, end ? EndStream : (byte)0, id, bytes);

    public Task ResetAsync(int id, uint code) => SendAsync(RstStream, 0, id, BigEndian(code));

    public Task GoAwayAsync(int lastStream, uint code) =>
        SendAsync(GoAwayType, 0, 0, [.. BigEndian((uint)lastStream), .. BigEndian(code)]);

    public void Close() => stream.Dispose();

    /// <summary>Ends the connection behind what was sent.
    /// Closing with bytes unread would take it back.</summary>
    public void HangUp() => ((NetworkStream)stream).Socket.Shutdown(SocketShutdown.Send);

    /// <summary>Reads to the end, and tells of each request whose headers have come,
    /// and of each that the client takes back.</summary>
    public async Task TalkAsync(
        Func<Http2PeerConnection, int, Task> answer, Action<int> takenBack, CancellationToken cancellation)
    {
        await SendAsync(Settings, 0, 0, []);
        await stream.ReadExactlyAsync(new byte[PrefaceLength], cancellation);
        byte[] header = new byte[9];
        while (true)
        {
            await stream.ReadExactlyAsync(header, cancellation);
            byte[] payload = new byte[(header[0] << 16) | (header[1] << 8) | header[2]];
            await stream.ReadExactlyAsync(payload, cancellation);
            int id = (int)BinaryPrimitives.ReadUInt32BigEndian(header.AsSpan(5));
            switch (header[3])
            {
                case Settings when header[4] != Ack:
                    await SendAsync(Settings, Ack, 0, []);
                    break;
                case Ping when header[4] != Ack:
                    Interlocked.Increment(ref _pings);
                    await SendAsync(Ping, Ack, 0, payload);
                    break;
                case Headers:
                    await answer(this, id);
                    break;
                case RstStream:
                    takenBack(id);
                    break;
            }
        }
    }

    private static byte[] BigEndian(uint value)
    {
        byte[] bytes = new byte[4];
        BinaryPrimitives.WriteUInt32BigEndian(bytes, value);
        return bytes;
    }

    private static void AddText(List<byte> block, string text)
    {
        byte[] bytes = Encoding.Latin1.GetBytes(text);
        int left = bytes.Length - 127;
        block.Add((byte)Math.Min(bytes.Length, 127));
        for (; left >= 128; left >>= 7)
        {
            block.Add((byte)(left | 128));
        }

        if (bytes.Length >= 127)
        {
            block.Add((byte)left);
        }

        block.AddRange(bytes);
    }

    private async Task SendAsync(byte type, byte flags, int id, byte[] payload)
    {
        int length = payload.Length;
        await stream.WriteAsync((byte[])
        [
            (byte)(length >> 16), (byte)(length >> 8), (byte)length, type, flags, .. BigEndian((uint)id),
            .. payload,
        ]);
    }
}

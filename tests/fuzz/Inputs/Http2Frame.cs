using System.Buffers.Binary;
using System.Text;

namespace ProtoRpc.Fuzz.Inputs;

/// <summary>A frame of HTTP/2 (RFC 9113 section 4.1).</summary>
/// <param name="Type">Its type.</param>
/// <param name="Flags">Its flags.</param>
/// <param name="Stream">The stream that it belongs to.</param>
/// <param name="Payload">What follows its head.</param>
internal sealed record Http2Frame(byte Type, byte Flags, uint Stream, byte[] Payload)
{
    public const byte Data = 0;
    public const byte Head = 1;
    public const byte Reset = 3;
    public const byte Settings = 4;
    public const byte Ping = 6;
    public const byte GoAway = 7;
    public const byte WindowUpdate = 8;
    public const byte Continuation = 9;

    public const byte EndStream = 1;
    public const byte EndHeaders = 4;

    private const int HeadLength = 9;

    /// <summary>A frame with headers, each written out: no name or value is indexed.</summary>
    public static Http2Frame OfHeaders(
        uint stream, byte flags, IEnumerable<(string Name, string Value)> headers)
    {
        List<byte> block = [];
        foreach ((string name, string value) in headers)
        {
            block.Add(0);
            AddText(block, name);
            AddText(block, value);
        }

        return new Http2Frame(Head, flags, stream, [.. block]);
    }

    /// <summary>The whole frames at the front of bytes.</summary>
    /// <param name="bytes">What came.</param>
    /// <param name="rest">How many bytes follow the last whole frame.</param>
    public static List<Http2Frame> Split(ReadOnlySpan<byte> bytes, out int rest)
    {
        List<Http2Frame> frames = [];
        while (bytes.Length >= HeadLength)
        {
            int length = (bytes[0] << 16) | (bytes[1] << 8) | bytes[2];
            if (bytes.Length - HeadLength < length)
            {
                break;
            }

            frames.Add(new Http2Frame(
                bytes[3], bytes[4], BinaryPrimitives.ReadUInt32BigEndian(bytes[5..]) & int.MaxValue,
                bytes.Slice(HeadLength, length).ToArray()));
            bytes = bytes[(HeadLength + length)..];
        }

        rest = bytes.Length;
        return frames;
    }

    /// <summary>The bytes of frames.</summary>
    public static byte[] Join(IEnumerable<Http2Frame> frames)
    {
        List<byte> bytes = [];
        Span<byte> stream = stackalloc byte[4];
        foreach (Http2Frame frame in frames)
        {
            int length = frame.Payload.Length;
            bytes.AddRange(
                [(byte)(length >> 16), (byte)(length >> 8), (byte)length, frame.Type, frame.Flags]);
            BinaryPrimitives.WriteUInt32BigEndian(stream, frame.Stream);
            bytes.AddRange(stream);
            bytes.AddRange(frame.Payload);
        }

        return [.. bytes];
    }

    // RFC 7541 section 5.2, without Huffman's code.
    private static void AddText(List<byte> block, string text)
    {
        byte[] bytes = Encoding.Latin1.GetBytes(text);
        int length = bytes.Length;
        if (length < 127)
        {
            block.Add((byte)length);
        }
        else
        {
            block.Add(127);
            for (length -= 127; length >= 128; length >>= 7)
            {
                block.Add((byte)(length | 128));
            }

            block.Add((byte)length);
        }

        block.AddRange(bytes);
    }
}

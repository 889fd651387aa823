using System.Buffers.Binary;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;

namespace ProtoRpc.Fuzz.Inputs;

/// <summary>Changes the frames of gRPC, gRPC-Web and Connect, and writes their lengths anew, so that the
/// change is read. An input without frames is changed as JSON.</summary>
/// <param name="headOf">The number of bytes before the first frame.</param>
internal sealed class FrameMutator(Func<byte[], int> headOf) : IMutator
{
    // Compressed; the end of Connect; the trailers of gRPC-Web.
    private static readonly byte[] Flags = [0, 1, 2, 3, 0x80, 0x81, 4];

    private static readonly byte[][] Bodies =
    [
        [], [.. "{}"u8],
        [.. """{"error":{"code":"aborted","message":"x","details":[{"type":"a","value":"AA"}]}}"""u8],
        [.. """{"metadata":{"a":["b","c"],"d-bin":["AAE"]}}"""u8],
        [.. "grpc-status: 5\r\ngrpc-message: x\r\n"u8],
    ];

    private static readonly JsonMutator Inner = new();

    /// <summary>A frame.</summary>
    public static byte[] Write(byte flags, ReadOnlySpan<byte> body)
    {
        byte[] prefix = new byte[GrpcFraming.PrefixLength];
        GrpcFraming.WritePrefix(prefix, flags, body.Length);
        return [.. prefix, .. body];
    }

    public byte[] Change(Random random, byte[] input, IReadOnlyList<byte[]> others)
    {
        int head = Math.Min(headOf(input), input.Length);
        List<Frame> frames = Split(input.AsSpan(head));
        if (frames.Count == 0 || random.Next(5) == 0)
        {
            return Inner.Change(random, input, others);
        }

        int at = random.Next(frames.Count);
        Frame frame = frames[at];
        switch (random.Next(8))
        {
            case 0:
                frames[at] = frame with { Flags = Flags[random.Next(Flags.Length)] };
                break;
            case 1:
                frames.Insert(at, frame);
                break;
            case 2:
                frames.RemoveAt(at);
                break;
            case 3:
                frames[at] = frame with
                {
                    Flags = (byte)(frame.Flags | FrameRules.Compressed),
                    Body = ContentEncoding.Gzip.Encode(frame.Body).ToArray(),
                };
                break;
            case 4:
                frames.Add(new Frame(Flags[random.Next(Flags.Length)], Bodies[random.Next(Bodies.Length)]));
                break;
            default:
                // Its first byte says whether it is JSON or binary.
                byte kind = (byte)(random.Next(2) == 0 ? 0 : 0x80);
                byte[] changed = Inner.Change(random, [kind, .. frame.Body], []);
                frames[at] = frame with { Body = changed.Length > 0 ? changed[1..] : changed };
                break;
        }

        return [.. input.AsSpan(0, head), .. frames.SelectMany(one => Write(one.Flags, one.Body))];
    }

    // None if a length does not fit.
    private static List<Frame> Split(ReadOnlySpan<byte> bytes)
    {
        List<Frame> frames = [];
        while (bytes.Length >= GrpcFraming.PrefixLength)
        {
            uint length = BinaryPrimitives.ReadUInt32BigEndian(bytes[1..]);
            if (length > bytes.Length - GrpcFraming.PrefixLength)
            {
                return [];
            }

            frames.Add(new Frame(bytes[0], bytes.Slice(GrpcFraming.PrefixLength, (int)length).ToArray()));
            bytes = bytes[(GrpcFraming.PrefixLength + (int)length)..];
        }

        return frames;
    }

    private sealed record Frame(byte Flags, byte[] Body);
}

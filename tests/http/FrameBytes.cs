using System.Buffers.Binary;

namespace ProtoRpc.Http.Tests;

/// <summary>The frames of gRPC, gRPC-Web and streams of Connect, as the tests write and read them: apart from
/// the code that they test.</summary>
internal static class FrameBytes
{
    private const int PrefixLength = 5;

    public static byte[] Create(byte flags, params byte[] body)
    {
        byte[] frame = [flags, 0, 0, 0, 0, .. body];
        BinaryPrimitives.WriteInt32BigEndian(frame.AsSpan(1), body.Length);
        return frame;
    }

    public static List<(byte Flags, byte[] Body)> Split(byte[] bytes)
    {
        List<(byte, byte[])> frames = [];
        for (int at = 0; at < bytes.Length;)
        {
            int length = BinaryPrimitives.ReadInt32BigEndian(bytes.AsSpan(at + 1));
            frames.Add((bytes[at], bytes[(at + PrefixLength)..(at + PrefixLength + length)]));
            at += PrefixLength + length;
        }

        return frames;
    }
}

using System.Buffers.Binary;

namespace ProtoRpc.WindowsTests;

/// <summary>A part of what a program of Linux sends to a test under Wine.</summary>
internal readonly record struct PeerPart(PeerPart.Source From, ReadOnlyMemory<byte> Bytes)
{
    private const int HeadLength = 1 + sizeof(int);

    /// <summary>Where it comes from.</summary>
    public enum Source : byte
    {
        Output,
        Errors,

        /// <summary>The exit code, and the last part.</summary>
        Exit,
    }

    public static PeerPart OfExit(int code)
    {
        byte[] bytes = new byte[sizeof(int)];
        BinaryPrimitives.WriteInt32BigEndian(bytes, code);
        return new PeerPart(Source.Exit, bytes);
    }

    public int ToExitCode() => BinaryPrimitives.ReadInt32BigEndian(Bytes.Span);

    /// <exception cref="EndOfStreamException">There is no further one.</exception>
    public static async Task<PeerPart> ReadAsync(Stream stream)
    {
        byte[] head = new byte[HeadLength];
        await stream.ReadExactlyAsync(head);
        byte[] bytes = new byte[BinaryPrimitives.ReadInt32BigEndian(head.AsSpan(1))];
        await stream.ReadExactlyAsync(bytes);
        return new PeerPart((Source)head[0], bytes);
    }

    public async Task WriteAsync(Stream stream)
    {
        byte[] all = new byte[HeadLength + Bytes.Length];
        all[0] = (byte)From;
        BinaryPrimitives.WriteInt32BigEndian(all.AsSpan(1), Bytes.Length);
        Bytes.CopyTo(all.AsMemory(HeadLength));
        await stream.WriteAsync(all);
    }
}

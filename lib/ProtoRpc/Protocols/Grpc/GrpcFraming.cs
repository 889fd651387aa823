using System.Buffers;
using System.Buffers.Binary;

namespace ProtoRpc.Protocols.Grpc;

/// <summary>The framing of messages: one octet that says whether the body is compressed,
/// its length in four octets, the body.</summary>
internal static class GrpcFraming
{
    /// <summary>Octets before a body.</summary>
    public const int PrefixLength = 5;

    /// <summary>Reads one message if all of it has come.</summary>
    /// <param name="buffer">What has come; on success what is left of it.</param>
    /// <param name="maxBytes">The largest body.</param>
    /// <param name="frame">The message.</param>
    /// <returns>False when more bytes are needed; the buffer is then unchanged.</returns>
    /// <exception cref="RpcException">ResourceExhausted when the prefix announces more than the limit;
    /// Internal when it is no prefix.</exception>
    public static bool TryRead(ref ReadOnlySequence<byte> buffer, int maxBytes, out GrpcFrame frame)
    {
        frame = default;
        if (buffer.Length < PrefixLength)
        {
            return false;
        }

        Span<byte> prefix = stackalloc byte[PrefixLength];
        buffer.Slice(0, PrefixLength).CopyTo(prefix);
        int length = ReadPrefix(prefix, maxBytes, out bool isCompressed);
        if (buffer.Length - PrefixLength < length)
        {
            return false;
        }

        frame = new GrpcFrame(isCompressed, buffer.Slice(PrefixLength, length));
        buffer = buffer.Slice(PrefixLength + (long)length);
        return true;
    }

    /// <summary>Reads the prefix of a body.</summary>
    /// <returns>The length of the body.</returns>
    /// <exception cref="RpcException">As of <see cref="TryRead"/>.</exception>
    public static int ReadPrefix(ReadOnlySpan<byte> prefix, int maxBytes, out bool isCompressed)
    {
        isCompressed = prefix[0] == 1;
        if (prefix[0] > 1)
        {
            throw GrpcDefects.BadFrame(
                $"a message starts with 0x{prefix[0]:x2}, not with a compression flag of 0 or 1");
        }

        // Checked before anything is kept for it: the length is the peer's word.
        uint length = BinaryPrimitives.ReadUInt32BigEndian(prefix[1..]);
        return length <= (uint)maxBytes
            ? (int)length
            : throw GrpcDefects.TooLarge($"announces a message of {length:N0} bytes", maxBytes);
    }

    /// <summary>Writes the prefix of a body.</summary>
    public static void WritePrefix(Span<byte> prefix, bool isCompressed, int length)
    {
        prefix[0] = isCompressed ? (byte)1 : (byte)0;
        BinaryPrimitives.WriteUInt32BigEndian(prefix[1..], (uint)length);
    }
}

/// <summary>One length-prefixed message of a gRPC stream.</summary>
/// <param name="IsCompressed">Whether the body is compressed by the stream's encoding.</param>
/// <param name="Body">The body, as long as the buffer that it was read from.</param>
internal readonly record struct GrpcFrame(bool IsCompressed, ReadOnlySequence<byte> Body);

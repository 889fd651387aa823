using System.Buffers.Binary;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Protocols.Grpc;

/// <summary>The framing of messages: one octet of flags, of which one says whether the body is compressed,
/// its length in four octets, the body. gRPC, gRPC-Web and streams of Connect have it.</summary>
internal static class GrpcFraming
{
    /// <summary>Octets before a body.</summary>
    public const int PrefixLength = 5;

    /// <summary>Reads one message if it has arrived completely.</summary>
    /// <param name="buffer">The received bytes; on success, the rest after the message.</param>
    /// <param name="maxBytes">The largest body.</param>
    /// <param name="frame">The message.</param>
    /// <param name="rules">The rules of the protocol; null for gRPC.</param>
    /// <returns>False when more bytes are needed; the buffer is then unchanged.</returns>
    /// <exception cref="RpcException">ResourceExhausted: the message is over the limit. For a malformed
    /// prefix, the exception of the rules.</exception>
    public static bool TryRead(
        ref ReadOnlySequence<byte> buffer, int maxBytes, out GrpcFrame frame, FrameRules? rules = null)
    {
        frame = default;
        if (buffer.Length < PrefixLength)
        {
            return false;
        }

        Span<byte> prefix = stackalloc byte[PrefixLength];
        buffer.Slice(0, PrefixLength).CopyTo(prefix);
        int length = ReadPrefix(prefix, maxBytes, rules ?? FrameRules.Grpc, out byte flags);
        if (buffer.Length - PrefixLength < length)
        {
            return false;
        }

        frame = new GrpcFrame(flags, buffer.Slice(PrefixLength, length));
        buffer = buffer.Slice(PrefixLength + (long)length);
        return true;
    }

    /// <summary>Reads the prefix of a body.</summary>
    /// <returns>The length of the body.</returns>
    /// <exception cref="RpcException">As of <see cref="TryRead"/>.</exception>
    public static int ReadPrefix(
        ReadOnlySpan<byte> prefix, int maxBytes, FrameRules rules, out byte flags)
    {
        flags = prefix[0];
        if ((flags & ~rules.Flags) != 0)
        {
            throw rules.Violation($"a message starts with 0x{flags:x2}, not with {rules.Expected}", null);
        }

        // The peer chooses the length, so it is checked before memory is reserved for it.
        uint length = BinaryPrimitives.ReadUInt32BigEndian(prefix[1..]);
        return length <= (uint)maxBytes
            ? (int)length
            : throw GrpcDefects.TooLarge($"announces a message of {length:N0} bytes", maxBytes);
    }

    /// <summary>Writes the prefix of a body.</summary>
    public static void WritePrefix(Span<byte> prefix, byte flags, int length)
    {
        prefix[0] = flags;
        BinaryPrimitives.WriteUInt32BigEndian(prefix[1..], (uint)length);
    }

    /// <summary>Writes the prefix of a body.</summary>
    public static void WritePrefix(IBufferWriter<byte> output, byte flags, int length)
    {
        WritePrefix(output.GetSpan(PrefixLength), flags, length);
        output.Advance(PrefixLength);
    }

    /// <summary>Writes a body with its prefix.</summary>
    public static void Write(IBufferWriter<byte> output, byte flags, ReadOnlySpan<byte> body)
    {
        WritePrefix(output, flags, body.Length);
        output.Write(body);
    }
}

/// <summary>One length-prefixed message of a stream.</summary>
/// <param name="Flags">The first octet.</param>
/// <param name="Body">The body; valid as long as the buffer that it was read from.</param>
internal readonly record struct GrpcFrame(byte Flags, ReadOnlySequence<byte> Body)
{
    /// <summary>Whether the body is compressed by the stream's encoding.</summary>
    public bool IsCompressed => (Flags & FrameRules.Compressed) != 0;
}

/// <summary>The rules of a protocol that frames messages in this way.</summary>
/// <param name="flags">The flags that a frame may have.</param>
/// <param name="expected">The allowed flags in words, for errors.</param>
/// <param name="encodingHeader">The header that names the compression of messages.</param>
/// <param name="violation">Creates the error for a peer that violates the rules.</param>
internal sealed class FrameRules(
    byte flags, string expected, string encodingHeader, Func<string, Exception?, RpcException> violation)
{
    /// <summary>The flag of a compressed message.</summary>
    public const byte Compressed = 0x01;

    /// <summary>The flag of the trailers of gRPC-Web.</summary>
    public const byte Trailers = 0x80;

    /// <summary>The rules of gRPC, and of requests of gRPC-Web.</summary>
    public static FrameRules Grpc { get; } = new(
        Compressed, "a compression flag of 0 or 1", GrpcHeaders.Encoding, GrpcDefects.BadFrame);

    /// <summary>The rules of replies of gRPC-Web, the last of which are trailers.</summary>
    public static FrameRules GrpcWebReplies { get; } = new(
        Compressed | Trailers, "flags for compression (0x01) and trailers (0x80)", GrpcHeaders.Encoding,
        GrpcDefects.BadFrame);

    public byte Flags => flags;

    public string Expected => expected;

    public string EncodingHeader => encodingHeader;

    /// <summary>The error for a peer that violates the rules.</summary>
    /// <param name="why">The violation.</param>
    /// <param name="inner">The cause, or null.</param>
    public RpcException Violation(string why, Exception? inner = null) => violation(why, inner);

    /// <summary>The error of a request whose bytes cannot be read.</summary>
    public RpcException Unreadable(Exception cause) =>
        Violation($"the request cannot be read ({cause.Message})", cause);
}

/// <summary>Writes messages as frames.</summary>
internal static class GrpcFrameWriter
{
    /// <summary>Writes a message.</summary>
    /// <param name="output">Receives the frame.</param>
    /// <param name="message">The message.</param>
    /// <param name="encoding">The compression of the message; null for none.</param>
    /// <returns>The size of the message as it is sent.</returns>
    public static int Write(IBufferWriter<byte> output, IMessage message, ContentEncoding? encoding)
    {
        using EncodedMessage body = EncodedMessage.From(message);

        // GZipStream writes nothing at all for an empty body, and @grpc/grpc-js rejects that as gzip.
        if (encoding is not null && body.Length > 0)
        {
            ReadOnlySpan<byte> compressed = encoding.Encode(body.ToArray());
            GrpcFraming.Write(output, FrameRules.Compressed, compressed);
            return compressed.Length;
        }

        GrpcFraming.WritePrefix(output, flags: 0, body.Length);
        body.WriteTo(output);
        return body.Length;
    }
}

/// <summary>Compression of messages.</summary>
internal static class GrpcEncoding
{
    public const string Identity = "identity";

    private const int FirstBuffer = 4 * 1024;

    private static readonly string SentNames = string.Join(
        ", ", ContentEncoding.All.Where(encoding => encoding.IsSentByGrpc).Select(e => e.Compression));

    /// <summary>The encodings that this side reads, for grpc-accept-encoding.</summary>
    public static string Accepted { get; } =
        string.Join(',', ContentEncoding.All.Select(encoding => encoding.Name).Prepend(Identity));

    /// <summary>Whether a grpc-encoding says that messages are not compressed.</summary>
    public static bool IsNone(string? encoding) =>
        string.IsNullOrEmpty(encoding) || Identity.Equals(encoding, StringComparison.OrdinalIgnoreCase);

    /// <summary>The encoding of requests to an endpoint; null for none.</summary>
    /// <exception cref="RpcException">InvalidArgument: gRPC does not send messages in it.</exception>
    public static ContentEncoding? Select(RpcCompression compression, RpcEndpoint endpoint) =>
        ContentEncoding.Get(compression) is { } selected
            ? selected.IsSentByGrpc ? selected : throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.CompressionNotSupported,
                $"Requests to '{endpoint}' cannot be compressed with {compression}, which other "
                + $"implementations of gRPC do not support. Use {SentNames} or None.", endpoint)
            : null;

    /// <summary>Decompresses a body.</summary>
    /// <param name="body">The compressed body.</param>
    /// <param name="encoding">The value of grpc-encoding; null if it is missing.</param>
    /// <param name="maxBytes">The largest body, after decompression.</param>
    /// <param name="rules">The rules of the protocol; null for gRPC.</param>
    /// <exception cref="RpcException">ResourceExhausted: the body is over the limit. For an encoding that was
    /// not negotiated, or invalid bytes, the exception of the rules.</exception>
    public static ReadOnlyMemory<byte> Decompress(
        in ReadOnlySequence<byte> body, string? encoding, int maxBytes, FrameRules? rules = null)
    {
        rules ??= FrameRules.Grpc;
        if (ContentEncoding.Find(encoding) is not { } known)
        {
            throw rules.Violation(IsNone(encoding)
                ? $"a message is marked as compressed, but there is no {rules.EncodingHeader}"
                : $"a message is compressed with '{encoding}', which is not one of {Accepted}");
        }

        // grpc-dotnet compresses an empty message to nothing.
        if (body.IsEmpty)
        {
            return default;
        }

        try
        {
            using Stream stream = Decompression.Open(new MemoryStream(body.ToArray()), known);
            return ReadToEnd(stream, maxBytes);
        }
        catch (InvalidDataException e)
        {
            throw rules.Violation(
                $"a message is not the {known.Name} data that it is marked as ({e.Message})", e);
        }
    }

    // The buffer grows with the decompressed bytes and stops at the limit, because a few bytes can expand to
    // any size.
    private static ReadOnlyMemory<byte> ReadToEnd(Stream stream, int maxBytes)
    {
        byte[] bytes = new byte[Math.Min(FirstBuffer, (long)maxBytes + 1)];
        int length = 0;
        while (stream.Read(bytes, length, bytes.Length - length) is > 0 and int count)
        {
            length += count;
            if (length > maxBytes)
            {
                throw GrpcDefects.TooLarge(
                    $"sent a compressed message that inflates to more than {maxBytes:N0} bytes", maxBytes);
            }

            if (length == bytes.Length)
            {
                Array.Resize(ref bytes, (int)Math.Min(bytes.Length * 2L, (long)maxBytes + 1));
            }
        }

        return bytes.AsMemory(0, length);
    }
}

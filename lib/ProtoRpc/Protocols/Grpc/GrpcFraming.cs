using System.Buffers.Binary;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Http;

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

/// <summary>Writes messages as frames.</summary>
internal static class GrpcFrameWriter
{
    /// <summary>Writes a message.</summary>
    /// <param name="output">Where the frame goes.</param>
    /// <param name="message">The message.</param>
    /// <param name="encoding">How the message is compressed; null for not.</param>
    /// <returns>The number of the message's bytes, as they are sent.</returns>
    public static int Write(IBufferWriter<byte> output, IMessage message, ContentEncoding? encoding)
    {
        using EncodedMessage body = EncodedMessage.From(message);

        // GZipStream writes nothing at all for an empty body, and @grpc/grpc-js rejects that as gzip.
        if (encoding is not null && body.Length > 0)
        {
            ReadOnlySpan<byte> compressed = encoding.Encode(body.ToArray());
            WritePrefix(output, isCompressed: true, compressed.Length);
            output.Write(compressed);
            return compressed.Length;
        }

        WritePrefix(output, isCompressed: false, body.Length);
        body.WriteTo(output);
        return body.Length;
    }

    private static void WritePrefix(IBufferWriter<byte> output, bool isCompressed, int length)
    {
        GrpcFraming.WritePrefix(output.GetSpan(GrpcFraming.PrefixLength), isCompressed, length);
        output.Advance(GrpcFraming.PrefixLength);
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

    /// <summary>Undoes the compression of a body.</summary>
    /// <param name="body">The compressed body.</param>
    /// <param name="encoding">What grpc-encoding said; null where it said nothing.</param>
    /// <param name="maxBytes">The largest body, after decompression.</param>
    /// <exception cref="RpcException">ResourceExhausted over the limit;
    /// Internal for an encoding that was not agreed upon, and for bytes that are not of it.</exception>
    public static ReadOnlyMemory<byte> Decompress(
        in ReadOnlySequence<byte> body, string? encoding, int maxBytes)
    {
        if (ContentEncoding.Find(encoding) is not { } known)
        {
            throw GrpcDefects.BadFrame(IsNone(encoding)
                ? "a message is marked as compressed, but there is no grpc-encoding"
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
            throw GrpcDefects.BadFrame(
                $"a message is not the {known.Name} data that it is marked as ({e.Message})", e);
        }
    }

    // Grows with what comes out, and stops at the limit: a few bytes can inflate to any number.
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

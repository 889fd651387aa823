using System.Buffers;
using System.IO.Compression;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Protocols.Grpc;

/// <summary>Compression of messages.</summary>
internal static class GrpcEncoding
{
    public const string Identity = "identity";
    public const string Gzip = "gzip";

    /// <summary>What this side reads, for grpc-accept-encoding.</summary>
    public const string Accepted = $"{Identity},{Gzip}";

    private const int FirstBuffer = 4 * 1024;

    /// <summary>Whether a grpc-encoding is gzip. Names of codings have no case (RFC 9110, 8.4.1).</summary>
    public static bool IsGzip(string? encoding) => Gzip.Equals(encoding, StringComparison.OrdinalIgnoreCase);

    /// <summary>Whether a grpc-encoding says that messages are not compressed.</summary>
    public static bool IsNone(string? encoding) =>
        string.IsNullOrEmpty(encoding) || Identity.Equals(encoding, StringComparison.OrdinalIgnoreCase);

    /// <summary>Compresses a body with gzip.</summary>
    public static byte[] Compress(ReadOnlySpan<byte> body)
    {
        using MemoryStream output = new();
        using (GZipStream gzip = new(output, CompressionLevel.Fastest, leaveOpen: true))
        {
            gzip.Write(body);
        }

        return output.ToArray();
    }

    /// <summary>Undoes the compression of a body.</summary>
    /// <param name="body">The compressed body.</param>
    /// <param name="encoding">What grpc-encoding said; null where it said nothing.</param>
    /// <param name="maxBytes">The largest body, after decompression.</param>
    /// <exception cref="RpcException">ResourceExhausted over the limit;
    /// Internal for an encoding that was not agreed upon, and for bytes that are not of it.</exception>
    public static ReadOnlyMemory<byte> Decompress(
        in ReadOnlySequence<byte> body, string? encoding, int maxBytes)
    {
        if (!IsGzip(encoding))
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
            using Stream gzip = Decompression.TryOpen(new MemoryStream(body.ToArray()), Gzip)!;
            return ReadToEnd(gzip, maxBytes);
        }
        catch (InvalidDataException e)
        {
            throw GrpcDefects.BadFrame(
                $"a message is not the gzip data that it is marked as ({e.Message})", e);
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

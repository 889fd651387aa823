using System.Diagnostics.CodeAnalysis;
using System.IO.Compression;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Http;

/// <summary>Compresses the bodies of requests, and decides whether to request compressed replies.</summary>
internal static class HttpCompression
{
    // Smaller bodies are not worth compressing, and often grow.
    private const int Threshold = 256;

    /// <summary>Whether to request compressed replies from an endpoint.</summary>
    public static bool IsAsked(RpcClientOptions options, RpcEndpoint endpoint) =>
        options.ReplyCompression switch
        {
            RpcReplyCompression.Always => true,
            RpcReplyCompression.Never => false,
            _ => options.Compression != RpcCompression.None
                || !(endpoint.IsLocalOnly || HttpTransport.IsLoopback(endpoint.Host)),
        };

    /// <summary>Compresses a body if compression is on and makes the body smaller.</summary>
    /// <param name="body">The body.</param>
    /// <param name="compression">The selected compression.</param>
    /// <param name="packed">The compressed bytes.</param>
    /// <param name="encoding">Their Content-Encoding.</param>
    public static bool TryCompress(
        ReadOnlySpan<byte> body, RpcCompression compression, [NotNullWhen(true)] out byte[]? packed,
        [NotNullWhen(true)] out string? encoding)
    {
        (packed, encoding) = (null, null);
        if (compression == RpcCompression.None || body.Length < Threshold || !CompressionProbe.Shrinks(body))
        {
            return false;
        }

        using MemoryStream compressed = new();
        using (Stream stream = compression == RpcCompression.Gzip
            ? new GZipStream(compressed, CompressionLevel.Fastest, leaveOpen: true)
            : new BrotliStream(compressed, CompressionLevel.Fastest, leaveOpen: true))
        {
            stream.Write(body);
        }

        packed = compressed.ToArray();
        encoding = compression == RpcCompression.Gzip ? "gzip" : "br";
        return true;
    }
}

using System.IO.Compression;
using System.Net.Http.Headers;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Http;

/// <summary>Compresses the bodies of requests, and says whether replies shall be compressed.</summary>
internal static class HttpCompression
{
    // Less is not worth it, and would often grow.
    private const int Threshold = 256;

    /// <summary>Whether an endpoint is asked for compressed replies.</summary>
    public static bool IsAsked(RpcClientOptions options, RpcEndpoint endpoint) =>
        options.ReplyCompression switch
        {
            RpcReplyCompression.Always => true,
            RpcReplyCompression.Never => false,
            _ => options.Compression != RpcCompression.None
                || !(endpoint.IsLocalOnly || HttpTransport.IsLoopback(endpoint.Host)),
        };

    /// <summary>A body, compressed if that was chosen and makes it smaller.</summary>
    public static HttpBody Compress(byte[] body, RpcCompression compression)
    {
        if (compression == RpcCompression.None || body.Length < Threshold || !CompressionProbe.Shrinks(body))
        {
            return new HttpBody(body, null, body.Length);
        }

        using MemoryStream compressed = new();
        using (Stream stream = compression == RpcCompression.Gzip
            ? new GZipStream(compressed, CompressionLevel.Fastest, leaveOpen: true)
            : new BrotliStream(compressed, CompressionLevel.Fastest, leaveOpen: true))
        {
            stream.Write(body);
        }

        return new HttpBody(
            compressed.GetBuffer().AsMemory(0, (int)compressed.Length),
            compression == RpcCompression.Gzip ? "gzip" : "br", body.Length);
    }
}

/// <summary>The body of a request, which may be sent more than once.</summary>
/// <param name="Bytes">Its bytes as they go.</param>
/// <param name="Encoding">How they are compressed; null where they are not.</param>
/// <param name="PlainLength">Bytes of the message.</param>
internal sealed record HttpBody(ReadOnlyMemory<byte> Bytes, string? Encoding, int PlainLength)
{
    /// <summary>The body of one request.</summary>
    public ReadOnlyMemoryContent ToContent(string mediaType)
    {
        ReadOnlyMemoryContent content = new(Bytes);
        content.Headers.ContentType = MediaTypeHeaderValue.Parse(mediaType);
        if (Encoding is { } encoding)
        {
            content.Headers.ContentEncoding.Add(encoding);
        }

        return content;
    }
}

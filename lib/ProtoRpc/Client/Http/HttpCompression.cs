using System.IO.Compression;
using System.Net.Http.Headers;

namespace ProtoRpc.Client.Http;

/// <summary>Compresses the bodies of requests.</summary>
internal static class HttpCompression
{
    // Less is not worth it, and would often grow.
    private const int Threshold = 256;

    public static HttpBody Compress(byte[] body, RpcCompression compression)
    {
        if (compression == RpcCompression.None || body.Length < Threshold)
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

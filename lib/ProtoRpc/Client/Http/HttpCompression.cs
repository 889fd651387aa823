using System.IO.Compression;

namespace ProtoRpc.Client.Http;

/// <summary>Compresses the bodies of requests.</summary>
internal static class HttpCompression
{
    // Less is not worth it, and would often grow.
    private const int Threshold = 256;

    public static ByteArrayContent Compress(byte[] body, RpcCompression compression)
    {
        if (compression == RpcCompression.None || body.Length < Threshold)
        {
            return new ByteArrayContent(body);
        }

        using MemoryStream compressed = new();
        using (Stream stream = compression == RpcCompression.Gzip
            ? new GZipStream(compressed, CompressionLevel.Fastest, leaveOpen: true)
            : new BrotliStream(compressed, CompressionLevel.Fastest, leaveOpen: true))
        {
            stream.Write(body);
        }

        ByteArrayContent content = new(compressed.GetBuffer(), 0, (int)compressed.Length);
        content.Headers.ContentEncoding.Add(compression == RpcCompression.Gzip ? "gzip" : "br");
        return content;
    }
}

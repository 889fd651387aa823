using System.IO.Compression;
using Microsoft.AspNetCore.Http;
using Microsoft.Net.Http.Headers;

namespace ProtoRpc.Hosting.Http;

/// <summary>Writes replies, those of some size compressed for clients that take it.</summary>
internal sealed class ReplyCompression(int threshold)
{
    public async Task WriteAsync(HttpContext http, ReadOnlyMemory<byte> body)
    {
        HttpResponse response = http.Response;
        string? encoding = body.Length < threshold ? null : EncodingFor(http.Request);
        if (encoding is null)
        {
            response.ContentLength = body.Length;
            await response.Body.WriteAsync(body, http.RequestAborted).ConfigureAwait(false);
            return;
        }

        response.Headers.ContentEncoding = encoding;
        response.Headers.Append("Vary", "Accept-Encoding");
        await using Stream stream = encoding == "br"
            ? new BrotliStream(response.Body, CompressionLevel.Fastest, leaveOpen: true)
            : new GZipStream(response.Body, CompressionLevel.Fastest, leaveOpen: true);
        await stream.WriteAsync(body, http.RequestAborted).ConfigureAwait(false);
    }

    private static string? EncodingFor(HttpRequest request)
    {
        if (request.Headers.AcceptEncoding.Count == 0
            || !StringWithQualityHeaderValue.TryParseList(
                request.Headers.AcceptEncoding, out IList<StringWithQualityHeaderValue>? accepted))
        {
            return null;
        }

        string? best = null;
        double bestQuality = 0;
        foreach (string encoding in new[] { "br", "gzip" })
        {
            StringWithQualityHeaderValue? named =
                accepted.FirstOrDefault(a => a.Value.Equals(encoding, StringComparison.OrdinalIgnoreCase));
            double quality = named is null ? 0 : named.Quality ?? 1;
            if (quality > bestQuality)
            {
                (best, bestQuality) = (encoding, quality);
            }
        }

        return best;
    }
}

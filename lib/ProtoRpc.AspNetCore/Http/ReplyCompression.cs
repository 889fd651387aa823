using System.Buffers;
using System.Net;
using Microsoft.Extensions.Primitives;
using Microsoft.Net.Http.Headers;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.AspNetCore.Http;

/// <summary>Writes replies, compressed where that pays.</summary>
internal sealed class ReplyCompression(RpcReplyCompression when, int threshold, bool isMapped)
{
    /// <summary>Writes a reply as the body of a response that has not begun.</summary>
    public Task WriteAsync(HttpContext http, ReadOnlyMemory<byte> body)
    {
        if (body.Length >= threshold && IsFor(http.Connection)
            && EncodingFor(http.Request.Headers.AcceptEncoding) is { } encoding
            && CompressionProbe.Shrinks(body.Span))
        {
            return WriteAsync(http, body, encoding);
        }

        http.Response.ContentLength = body.Length;
        return isMapped
            ? http.Response.Body.WriteAsync(body, http.RequestAborted).AsTask()
            : WriteForKestrelAsync(http.Response, body);
    }

    /// <summary>The compression of the messages of a stream; null for none.</summary>
    /// <param name="request">The request.</param>
    /// <param name="header">The name of the header with the encodings that the client accepts.</param>
    /// <param name="selected">The compression that the handler selected; null for the listener's
    /// setting.</param>
    public ContentEncoding? EncodingOf(HttpRequest request, string header, ContentEncoding? selected) =>
        selected is not null ? (Qualities(request.Headers[header])(selected) > 0 ? selected : null)
        : IsFor(request.HttpContext.Connection) ? EncodingFor(request.Headers[header])
        : null;

    /// <summary>Whether a message is large enough to be compressed, and shrinks.</summary>
    public bool Pays(ReadOnlySpan<byte> message) =>
        message.Length >= threshold && CompressionProbe.Shrinks(message);

    // Not flushed: Kestrel sends the body after the request was counted and logged. The header is sent first,
    // so that the body is written directly to the output buffer.
    private static async Task WriteForKestrelAsync(HttpResponse response, ReadOnlyMemory<byte> body)
    {
        await response.StartAsync().ConfigureAwait(false);
        response.BodyWriter.Write(body.Span);
    }

    private static async Task WriteAsync(
        HttpContext http, ReadOnlyMemory<byte> body, ContentEncoding encoding)
    {
        HttpResponse response = http.Response;
        response.Headers.ContentEncoding = encoding.Name;
        response.Headers.Append("Vary", "Accept-Encoding");
        await using Stream stream = encoding.Compress(response.Body);
        await stream.WriteAsync(body, http.RequestAborted).ConfigureAwait(false);
    }

    // On the same machine, sending bytes costs less than compressing them.
    private bool IsFor(ConnectionInfo connection) => when switch
    {
        RpcReplyCompression.Always => true,
        RpcReplyCompression.Never => false,
        _ => !IsLocal(connection.RemoteIpAddress, connection.LocalIpAddress),
    };

    // Unix sockets and in-memory connections have no address. A client on this machine may also use the
    // machine's network address.
    private static bool IsLocal(IPAddress? remote, IPAddress? local)
    {
        if (remote is null)
        {
            return true;
        }

        IPAddress plain = remote.IsIPv4MappedToIPv6 ? remote.MapToIPv4() : remote;
        return IPAddress.IsLoopback(plain) || remote.Equals(local);
    }

    private static ContentEncoding? EncodingFor(StringValues accepted)
    {
        if (accepted.Count == 0)
        {
            return null;
        }

        Func<ContentEncoding, double> qualityOf = Qualities(accepted);
        ContentEncoding? best = null;
        double bestQuality = 0;
        foreach (ContentEncoding encoding in ContentEncoding.OfReplies)
        {
            double quality = qualityOf(encoding);
            if (quality > bestQuality)
            {
                (best, bestQuality) = (encoding, quality);
            }
        }

        return best;
    }

    private static Func<ContentEncoding, double> Qualities(StringValues accepted) =>
        StringWithQualityHeaderValue.TryParseList(accepted, out IList<StringWithQualityHeaderValue>? list)
            ? encoding => list.FirstOrDefault(
                named => named.Value.Equals(encoding.Name, StringComparison.OrdinalIgnoreCase)) is { } found
                    ? found.Quality ?? 1
                    : 0
            : static _ => 0;
}

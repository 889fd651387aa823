using System.Net;

namespace ProtoRpc.Client.Http;

/// <summary>Wraps another request body, and records whether a connection began to send it: before that, the
/// call cannot have run.</summary>
internal sealed class WatchedContent : HttpContent
{
    private readonly HttpContent _inner;
    private volatile bool _isSent;

    public WatchedContent(HttpContent inner)
    {
        _inner = inner;
        foreach ((string name, IEnumerable<string> values) in inner.Headers)
        {
            Headers.TryAddWithoutValidation(name, values);
        }
    }

    /// <summary>Whether a connection has begun to send the body of a request; true if the body is not
    /// wrapped.</summary>
    public static bool IsSent(HttpRequestMessage message) =>
        message.Content is not (WatchedContent { _isSent: false } or HttpMessageContent { IsSent: false });

    protected override Task SerializeToStreamAsync(Stream stream, TransportContext? context) =>
        SerializeToStreamAsync(stream, context, CancellationToken.None);

    protected override Task SerializeToStreamAsync(
        Stream stream, TransportContext? context, CancellationToken cancellationToken)
    {
        _isSent = true;
        return _inner.CopyToAsync(stream, context, cancellationToken);
    }

    protected override void SerializeToStream(
        Stream stream, TransportContext? context, CancellationToken cancellationToken)
    {
        _isSent = true;
        _inner.CopyTo(stream, context, cancellationToken);
    }

    protected override bool TryComputeLength(out long length)
    {
        length = _inner.Headers.ContentLength ?? 0;
        return _inner.Headers.ContentLength is not null;
    }

    protected override void Dispose(bool disposing)
    {
        if (disposing)
        {
            _inner.Dispose();
        }

        base.Dispose(disposing);
    }
}

using System.Net;

namespace ProtoRpc.Client.Http;

/// <summary>The body of a request with a content of another kind, which remembers whether a connection took
/// it: before that, the call surely did not run.</summary>
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

    /// <summary>Whether the body of a request was begun to be sent;
    /// true for a body that is not watched.</summary>
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

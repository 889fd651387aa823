using System.Net;

namespace ProtoRpc.Client.Http;

/// <summary>A request body of one message. It records whether a connection began to send it: before that, the
/// call cannot have run.</summary>
internal sealed class HttpMessageContent : HttpContent
{
    private readonly HttpBody _body;
    private bool _isDisposed;
    private volatile bool _isSent;

    /// <param name="body">The bytes.</param>
    /// <param name="mediaType">Their format.</param>
    public HttpMessageContent(HttpBody body, string mediaType)
    {
        body.Hold();
        _body = body;
        Headers.TryAddWithoutValidation("Content-Type", mediaType);
        if (body.Encoding is { } encoding)
        {
            Headers.TryAddWithoutValidation("Content-Encoding", encoding);
        }
    }

    /// <summary>Whether a connection has begun to send the request.</summary>
    public bool IsSent => _isSent;

    protected override Task SerializeToStreamAsync(Stream stream, TransportContext? context) =>
        SerializeToStreamAsync(stream, context, CancellationToken.None);

    protected override async Task SerializeToStreamAsync(
        Stream stream, TransportContext? context, CancellationToken cancellationToken)
    {
        _body.Hold();
        using HttpBody held = _body;
        _isSent = true;
        await stream.WriteAsync(held.Bytes, cancellationToken).ConfigureAwait(false);
    }

    protected override void SerializeToStream(
        Stream stream, TransportContext? context, CancellationToken cancellationToken)
    {
        _body.Hold();
        using HttpBody held = _body;
        _isSent = true;
        stream.Write(held.Bytes.Span);
    }

    protected override bool TryComputeLength(out long length)
    {
        length = _body.Bytes.Length;
        return true;
    }

    protected override void Dispose(bool disposing)
    {
        if (disposing && !Interlocked.Exchange(ref _isDisposed, true))
        {
            _body.Dispose();
        }

        base.Dispose(disposing);
    }
}

using System.Net.Http.Headers;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Http;

// Requests whose bytes come from a stream. HTTP sends them as one body.
internal sealed partial class HttpChannel
{
    public TReply Upload<TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation) =>
        BlockingWait.End(UploadAsync<BlockingHttp, TReply>(call, request, read, cancellation));

    public Task<TReply> UploadAsync<TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation) =>
        UploadAsync<AsyncHttp, TReply>(call, request, read, cancellation).AsTask();

    private async ValueTask<TReply> UploadAsync<THttp, TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation)
        where THttp : struct, IHttpWait
    {
        RefuseStreams(call.Method);
        long total = request.Length - request.Position;
        HttpRequestMessage message = Request(call, new WatchedContent(new UploadContent(request)));
        TReply reply = await RunAsync<THttp, TReply>(call, message, read, cancellation).ConfigureAwait(false);
        call.Progress?.Report(new RpcProgress(total, total));
        return reply;
    }
}

/// <summary>A request body from the caller's stream, which stays open. A retry reads the stream from its
/// start.</summary>
internal sealed class UploadContent : StreamContent
{
    public UploadContent(Stream request)
        : base(request) =>
        Headers.ContentType = MediaTypeHeaderValue.Parse(MessageFormats.Binary.MediaType);

    protected override void Dispose(bool disposing)
    {
        // Overridden because the base class would close the stream.
    }
}

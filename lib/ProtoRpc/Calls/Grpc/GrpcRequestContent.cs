using System.Net;

namespace ProtoRpc.Calls.Grpc;

/// <summary>The body of a call whose messages are written one at a time while replies are read.</summary>
internal sealed class GrpcRequestContent : HttpContent
{
    private readonly TaskCompletionSource<Stream> _opened = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _completed = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public GrpcRequestContent()
    {
        Headers.ContentType = GrpcHeaders.MediaType;
    }

    /// <summary>Where messages are written to, once the request is under way.</summary>
    public Task<Stream> Opened => _opened.Task;

    /// <summary>Ends the body.</summary>
    public void Complete() => _completed.TrySetResult();

    /// <summary>Gives the body up, unless it is complete: the server must not take its beginning for the whole.</summary>
    public void Abandon() => _completed.TrySetCanceled();

    protected override Task SerializeToStreamAsync(Stream stream, TransportContext? context) =>
        SerializeToStreamAsync(stream, context, CancellationToken.None);

    protected override async Task SerializeToStreamAsync(
        Stream stream, TransportContext? context, CancellationToken cancellationToken)
    {
        if (!_opened.TrySetResult(stream))
        {
            // The handler sends a request again that a server refused; messages that are gone cannot be.
            throw new InvalidOperationException("A stream of messages is sent once.");
        }

        // Lets the headers go before the first message.
        await stream.FlushAsync(cancellationToken).ConfigureAwait(false);
        await _completed.Task.WaitAsync(cancellationToken).ConfigureAwait(false);
    }

    protected override bool TryComputeLength(out long length)
    {
        length = 0;
        return false;
    }
}

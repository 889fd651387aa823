using System.Net;
using ProtoRpc.Protocols.Grpc;

namespace ProtoRpc.Client.Grpc;

/// <summary>The body of a call whose messages are written one at a time while replies are read.</summary>
internal sealed class GrpcRequestContent : HttpContent
{
    private readonly TaskCompletionSource<Stream> _opened = new(
        TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _completed = new(
        TaskCreationOptions.RunContinuationsAsynchronously);

    private readonly CancellationToken _end;

    /// <param name="end">The end of the call: a body that is not complete is given up, for the server must
    /// not take its beginning for the whole.</param>
    public GrpcRequestContent(CancellationToken end)
    {
        _end = end;
        Headers.ContentType = GrpcHeaders.MediaType;
    }

    /// <summary>Where messages are written to, once the request is under way.</summary>
    public Task<Stream> Opened => _opened.Task;

    /// <summary>Ends the body.</summary>
    public void Complete() => _completed.TrySetResult();

    protected override Task SerializeToStreamAsync(Stream stream, TransportContext? context) =>
        SerializeToStreamAsync(stream, context, CancellationToken.None);

    protected override async Task SerializeToStreamAsync(
        Stream stream, TransportContext? context, CancellationToken cancellationToken)
    {
        if (!_opened.TrySetResult(stream))
        {
            // The handler sends a request again that a server refused; messages that are gone cannot be.
            throw new RpcException(
                RpcStatusCode.Unavailable,
                "The server refused the call, and a request stream is not retried automatically. "
                + "The call did not run: call again.");
        }

        // Lets the headers go before the first message.
        try
        {
            await stream.FlushAsync(cancellationToken).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (!_end.IsCancellationRequested)
        {
            // The server ended the call; the response says how, unless this fails before it.
        }

        // Not until the handler cancels: the call would fail as cancelled, and not with what the server says.
        await _completed.Task.WaitAsync(_end).ConfigureAwait(false);
    }

    protected override bool TryComputeLength(out long length)
    {
        length = 0;
        return false;
    }
}

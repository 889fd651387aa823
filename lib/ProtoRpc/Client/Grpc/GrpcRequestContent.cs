using System.Net;
using ProtoRpc.Protocols.Grpc;

namespace ProtoRpc.Client.Grpc;

/// <summary>The body of a call that sends messages one at a time, while replies are read.</summary>
internal sealed class GrpcRequestContent : HttpContent
{
    private readonly TaskCompletionSource<Stream> _opened = new(
        TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _completed = new(
        TaskCreationOptions.RunContinuationsAsynchronously);

    private readonly CancellationToken _end;

    /// <param name="end">Cancelled at the end of the call. An incomplete body is aborted, so that the server
    /// does not take it for a complete one.</param>
    public GrpcRequestContent(CancellationToken end)
    {
        _end = end;
        Headers.ContentType = GrpcHeaders.MediaType;
    }

    /// <summary>The stream for writing messages, once the request is being sent.</summary>
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
            // The HTTP handler resends a request that a server rejected, but sent messages are not kept.
            throw new RpcException(
                RpcStatusCode.Unavailable,
                "The server refused the call, and a request stream is not retried automatically. "
                + "The call did not run: call again.");
        }

        // Sends the headers before the first message.
        try
        {
            await stream.FlushAsync(cancellationToken).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (!_end.IsCancellationRequested)
        {
            // The server ended the call. The response says why, so this must not fail first.
        }

        // Waits for the end of the call, not for the handler's cancellation: the call would fail as
        // cancelled, instead of with the server's status.
        await _completed.Task.WaitAsync(_end).ConfigureAwait(false);
    }

    protected override bool TryComputeLength(out long length)
    {
        length = 0;
        return false;
    }
}

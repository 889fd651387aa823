using System.Net;
using System.Net.Http.Headers;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;

namespace ProtoRpc.Client.Grpc;

/// <summary>The body of a call that sends one message, which may be available now or later.</summary>
/// <remarks>The message is encoded when it is sent, and again when the HTTP handler resends it: only the
/// sender knows when it no longer uses the memory.</remarks>
internal sealed class GrpcMessageContent : HttpContent
{
    private readonly TaskCompletionSource? _come;
    private readonly CancellationToken _end;
    private readonly ReplayBuffer? _replay;
    private IMessage? _message;
    private ContentEncoding? _encoding;
    private volatile bool _isSent;

    /// <param name="message">The message.</param>
    /// <param name="encoding">How to compress the message; null for not.</param>
    /// <param name="replay">Keeps the bytes for retries; null for a call that is not retried.</param>
    public GrpcMessageContent(IMessage message, ContentEncoding? encoding, ReplayBuffer? replay)
    {
        _replay = replay;
        _message = message;
        _encoding = encoding;
        Headers.ContentType = GrpcHeaders.MediaType;
    }

    /// <param name="end">Cancelled at the end of the call, with or without a message.</param>
    /// <param name="replay">Keeps the bytes of the message for retries; null for a call that is not
    /// retried.</param>
    public GrpcMessageContent(CancellationToken end, ReplayBuffer? replay)
    {
        _replay = replay;
        _come = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _end = end;
        Headers.ContentType = GrpcHeaders.MediaType;
    }

    /// <summary>Whether a connection has begun to send the call, so that the server may have received
    /// it.</summary>
    public bool IsSent => _isSent;

    /// <summary>Called with the number of the message's bytes when it is sent; null for none.</summary>
    public Action<int>? Sent { get; set; }

    /// <summary>Sets the message. Not thread-safe.</summary>
    /// <returns>False if a message is already set.</returns>
    public bool TrySet(IMessage message, ContentEncoding? encoding)
    {
        if (_message is not null)
        {
            return false;
        }

        _encoding = encoding;
        _message = message;
        _come?.TrySetResult();
        return true;
    }

    /// <summary>Ends the body; without a message if none was set.</summary>
    public void Complete() => _come?.TrySetResult();

    protected override Task SerializeToStreamAsync(Stream stream, TransportContext? context) =>
        SerializeToStreamAsync(stream, context, CancellationToken.None);

    protected override async Task SerializeToStreamAsync(
        Stream stream, TransportContext? context, CancellationToken cancellationToken)
    {
        _isSent = true;
        if (_come is { Task.IsCompleted: false })
        {
            // Sends the headers before the message.
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
            await _come.Task.WaitAsync(_end).ConfigureAwait(false);
        }

        if (_message is not { } message)
        {
            return;
        }

        if (_replay is not null)
        {
            // A retry has separate memory, because an abandoned attempt may still be sending.
            byte[] again = ReplayBuffer.Encode(_replay, () =>
            {
                using PooledMessageBytes made = new(int.MaxValue, "request");
                GrpcFrameWriter.Write(made, message, _encoding);
                return made.Message.ToArray();
            });
            Sent?.Invoke(again.Length - GrpcFraming.PrefixLength);
            await stream.WriteAsync(again, cancellationToken).ConfigureAwait(false);
            return;
        }

        using PooledMessageBytes frame = new(int.MaxValue, "request");
        int length = GrpcFrameWriter.Write(frame, message, _encoding);
        Sent?.Invoke(length);
        await stream.WriteAsync(frame.Message, cancellationToken).ConfigureAwait(false);
    }

    protected override bool TryComputeLength(out long length)
    {
        length = 0;
        return false;
    }
}

/// <summary>The body of a call that sends messages one at a time, while replies are read.</summary>
internal sealed class GrpcRequestContent : HttpContent
{
    private readonly TaskCompletionSource<Stream> _opened = new(
        TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _completed = new(
        TaskCreationOptions.RunContinuationsAsynchronously);

    private readonly CancellationToken _end;
    private volatile bool _isSent;

    /// <param name="end">Cancelled at the end of the call. An incomplete body is aborted, so that the server
    /// does not take it for a complete one.</param>
    /// <param name="mediaType">The type of the body; null for that of gRPC.</param>
    public GrpcRequestContent(CancellationToken end, MediaTypeHeaderValue? mediaType = null)
    {
        _end = end;
        Headers.ContentType = mediaType ?? GrpcHeaders.MediaType;
    }

    /// <summary>Whether a connection has begun to send the call, so that the server may have received
    /// it.</summary>
    public bool IsSent => _isSent;

    /// <summary>The stream for writing messages, after the headers were sent: a stream of HTTP/1.1 allows one
    /// write at a time.</summary>
    public Task<Stream> Opened => _opened.Task;

    /// <summary>Ends the body.</summary>
    public void Complete() => _completed.TrySetResult();

    protected override Task SerializeToStreamAsync(Stream stream, TransportContext? context) =>
        SerializeToStreamAsync(stream, context, CancellationToken.None);

    protected override async Task SerializeToStreamAsync(
        Stream stream, TransportContext? context, CancellationToken cancellationToken)
    {
        if (_opened.Task.IsCompleted)
        {
            throw NotKept();
        }

        // Sends the headers before the first message.
        _isSent = true;
        try
        {
            await stream.FlushAsync(cancellationToken).ConfigureAwait(false);
            if (!_opened.TrySetResult(stream))
            {
                throw NotKept();
            }
        }
        catch (OperationCanceledException) when (!_end.IsCancellationRequested)
        {
            // The server ended the call. The response says why, so this must not fail first.
        }

        // Waits for the end of the call, not for the handler's cancellation: the call would fail as
        // cancelled, instead of with the server's status.
        await _completed.Task.WaitAsync(_end).ConfigureAwait(false);
    }

    // The HTTP handler resends a request that a server rejected, but sent messages are not kept.
    private static RpcException NotKept() => new(
        RpcStatusCode.Unavailable,
        "The server rejected the call, and a request stream is not retried automatically. "
        + "The call did not run: call again.");

    protected override bool TryComputeLength(out long length)
    {
        length = 0;
        return false;
    }
}

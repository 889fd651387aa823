using System.Net;
using Google.Protobuf;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;

namespace ProtoRpc.Client.Grpc;

/// <summary>The body of a call that sends one message, at once or when it is there.</summary>
/// <remarks>Written when it is sent, and again when the handler sends it again: only the one who sends knows
/// when the memory is free for others.</remarks>
internal sealed class GrpcMessageContent : HttpContent
{
    private readonly TaskCompletionSource? _come;
    private readonly CancellationToken _end;
    private readonly KeptRequest? _kept;
    private IMessage? _message;
    private bool _compress;
    private volatile bool _isSent;

    /// <param name="message">The message.</param>
    /// <param name="compress">Whether it goes compressed.</param>
    /// <param name="kept">Keeps its bytes for further tries; null for a call that is tried once.</param>
    public GrpcMessageContent(IMessage message, bool compress, KeptRequest? kept)
    {
        _kept = kept;
        _message = message;
        _compress = compress;
        Headers.ContentType = GrpcHeaders.MediaType;
    }

    /// <param name="end">The end of the call, with or without a message.</param>
    /// <param name="kept">Keeps the bytes of the message for further tries; null for a call that is tried
    /// once.</param>
    public GrpcMessageContent(CancellationToken end, KeptRequest? kept)
    {
        _kept = kept;
        _come = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _end = end;
        Headers.ContentType = GrpcHeaders.MediaType;
    }

    /// <summary>Whether a connection took the call, so that the server may have it.</summary>
    public bool IsSent => _isSent;

    /// <summary>Told how many bytes the message has as it goes; null for nobody.</summary>
    public Action<int>? Sent { get; set; }

    /// <summary>Gives the message. Not thread-safe.</summary>
    /// <returns>False when there is one already.</returns>
    public bool TrySet(IMessage message, bool compress)
    {
        if (_message is not null)
        {
            return false;
        }

        _compress = compress;
        _message = message;
        _come?.TrySetResult();
        return true;
    }

    /// <summary>Ends the body, without a message where none was given.</summary>
    public void Complete() => _come?.TrySetResult();

    protected override Task SerializeToStreamAsync(Stream stream, TransportContext? context) =>
        SerializeToStreamAsync(stream, context, CancellationToken.None);

    protected override async Task SerializeToStreamAsync(
        Stream stream, TransportContext? context, CancellationToken cancellationToken)
    {
        _isSent = true;
        if (_come is { Task.IsCompleted: false })
        {
            // Lets the headers go before the message.
            try
            {
                await stream.FlushAsync(cancellationToken).ConfigureAwait(false);
            }
            catch (OperationCanceledException) when (!_end.IsCancellationRequested)
            {
                // The server ended the call; the response says how, unless this fails before it.
            }

            // Not until the handler cancels: the call would fail as cancelled,
            // and not with what the server says.
            await _come.Task.WaitAsync(_end).ConfigureAwait(false);
        }

        if (_message is not { } message)
        {
            return;
        }

        if (_kept is not null)
        {
            // In memory of its own: a try that was given up may still be sending.
            byte[] again = KeptRequest.Of(_kept, () =>
            {
                using PooledMessageBytes made = new(int.MaxValue, "request");
                GrpcFrameWriter.Write(made, message, _compress);
                return made.Message.ToArray();
            });
            Sent?.Invoke(again.Length - GrpcFraming.PrefixLength);
            await stream.WriteAsync(again, cancellationToken).ConfigureAwait(false);
            return;
        }

        using PooledMessageBytes frame = new(int.MaxValue, "request");
        int length = GrpcFrameWriter.Write(frame, message, _compress);
        Sent?.Invoke(length);
        await stream.WriteAsync(frame.Message, cancellationToken).ConfigureAwait(false);
    }

    protected override bool TryComputeLength(out long length)
    {
        length = 0;
        return false;
    }
}

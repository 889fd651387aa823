using Google.Protobuf;
using ProtoRpc.Transports;

namespace ProtoRpc.Client;

/// <summary>A streaming call on a transport. Reads replies, adds the endpoint and method to failures, and
/// cancels the call with its tokens.</summary>
/// <param name="stream">The transport's call.</param>
/// <param name="end">Cancels the transport's call; disposed with this.</param>
/// <param name="check">Checks a request; null if requests are already checked.</param>
/// <param name="read">Reads a reply.</param>
/// <param name="locate">Adds the endpoint and method to a failure.</param>
internal sealed class ClientStream(
    IRpcStream stream,
    CancellationTokenSource end,
    Func<IMessage, IMessage>? check,
    ReplyReader<IMessage> read,
    Func<RpcException, RpcException> locate)
    : RpcClientStream
{
    private IMessage? _current;

    public required RpcEndpoint Endpoint { get; init; }

    public override IMessage? Current => _current;

    public override async ValueTask<bool> SendAsync(
        IMessage request, bool compress, CancellationToken cancellationToken)
    {
        cancellationToken.ThrowIfCancellationRequested();
        IMessage message = check is null ? request : check(request);
        using CancellationTokenRegistration _ = EndWith(cancellationToken);
        bool taken = await stream.SendAsync(message, compress).ConfigureAwait(false);
        return taken || !cancellationToken.IsCancellationRequested
            ? taken
            : throw locate(CallErrors.Cancelled(Endpoint, sent: true));
    }

    public override async ValueTask CompleteAsync(CancellationToken cancellationToken)
    {
        cancellationToken.ThrowIfCancellationRequested();
        using CancellationTokenRegistration _ = EndWith(cancellationToken);
        await stream.CompleteAsync().ConfigureAwait(false);
    }

    public override async ValueTask<bool> ReadAsync(CancellationToken cancellationToken)
    {
        cancellationToken.ThrowIfCancellationRequested();
        try
        {
            using CancellationTokenRegistration _ = EndWith(cancellationToken);
            if (!await stream.ReadAsync().ConfigureAwait(false))
            {
                return false;
            }

            _current = read(stream.Current);
            return true;
        }
        catch (RpcException e)
        {
            throw locate(e);
        }
    }

    public override async ValueTask DisposeAsync()
    {
        await stream.DisposeAsync().ConfigureAwait(false);
        end.Dispose();
    }

    // A message that waits to be sent cannot be taken back, so cancelling it ends the call.
    private CancellationTokenRegistration EndWith(CancellationToken cancellation) =>
        cancellation.UnsafeRegister(static state => ((ClientStream)state!).CancelCall(), this);

    private void CancelCall()
    {
        try
        {
            end.Cancel();
        }
        catch (ObjectDisposedException)
        {
            // The call was disposed meanwhile, which also ended it.
        }
    }
}

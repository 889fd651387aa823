using Google.Protobuf;
using ProtoRpc.Transports;

namespace ProtoRpc.Client;

/// <summary>A call of streams at a transport: replies are read, failures say where,
/// and tokens end it.</summary>
/// <param name="stream">The call below.</param>
/// <param name="end">Cancels the call below; disposed of with it.</param>
/// <param name="check">Checks a request; null where they are checked already.</param>
/// <param name="read">Reads a reply.</param>
/// <param name="locate">Adds endpoint and method to a failure.</param>
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

    // A message that waits cannot be taken back: the call ends.
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
            // The call was disposed of meanwhile, which ended it.
        }
    }
}

using System.Buffers;
using System.Runtime.ExceptionServices;
using Google.Protobuf;
using ProtoRpc.Transports;

namespace ProtoRpc.Client;

/// <summary>A call of streams as messages: requests are checked, replies are read, failures say where.</summary>
/// <param name="stream">The call below.</param>
/// <param name="end">Cancels the call below; disposed of with it.</param>
/// <param name="toRequest">Makes and checks a request.</param>
/// <param name="read">Reads a reply.</param>
/// <param name="locate">Adds endpoint and method to a failure.</param>
/// <param name="ended">Told once that the call has ended, however it did.</param>
internal sealed class ClientStream(
    IRpcStream stream,
    CancellationTokenSource end,
    Func<object, IMessage> toRequest,
    Func<ReadOnlySequence<byte>, IMessage> read,
    Func<RpcException, RpcMethodInfo, RpcException> locate,
    Action ended)
    : IAsyncDisposable
{
    private Action? _ended = ended;
    private ExceptionDispatchInfo? _failure;

    public required RpcEndpoint Endpoint { get; init; }

    public required RpcMethodInfo Method { get; init; }

    public IMessage? Current { get; private set; }

    public async ValueTask<bool> SendAsync(object request, bool compress, CancellationToken cancellation)
    {
        cancellation.ThrowIfCancellationRequested();
        IMessage message = toRequest(request);
        using CancellationTokenRegistration _ = EndWith(cancellation);
        bool taken = await stream.SendAsync(message, compress).ConfigureAwait(false);
        return taken || !cancellation.IsCancellationRequested
            ? taken
            : throw locate(CallErrors.Cancelled(Endpoint, sent: true), Method);
    }

    public async ValueTask CompleteAsync(CancellationToken cancellation)
    {
        cancellation.ThrowIfCancellationRequested();
        using CancellationTokenRegistration _ = EndWith(cancellation);
        await stream.CompleteAsync().ConfigureAwait(false);
    }

    public async ValueTask<bool> ReadAsync(CancellationToken cancellation)
    {
        // A second reader must not take a call that failed for one that ended well.
        _failure?.Throw();
        cancellation.ThrowIfCancellationRequested();
        try
        {
            using CancellationTokenRegistration _ = EndWith(cancellation);
            if (!await stream.ReadAsync().ConfigureAwait(false))
            {
                End();
                return false;
            }

            Current = read(stream.Current);
            return true;
        }
        catch (RpcException e)
        {
            _failure = ExceptionDispatchInfo.Capture(locate(e, Method));
            End();
            throw;
        }
    }

    public async ValueTask DisposeAsync()
    {
        End();
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

    private void End() => Interlocked.Exchange(ref _ended, null)?.Invoke();
}

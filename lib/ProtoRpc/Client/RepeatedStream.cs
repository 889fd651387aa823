using Google.Protobuf;
using ProtoRpc.Transports;

namespace ProtoRpc.Client;

/// <summary>A call that is made again, elsewhere or later, as long as the server surely did not take it. Once
/// something of its reply has come it is as any other.</summary>
/// <param name="first">The first try.</param>
/// <param name="next">Gives the next try, or null if the failure is thrown.</param>
/// <param name="kept">The request for further tries; null where somebody else keeps it, or nobody.</param>
internal sealed class RepeatedStream(
    IRpcStream first, Func<RpcException, ValueTask<IRpcStream?>> next, KeptRequest? kept = null)
    : IRpcStream
{
    private readonly Lock _gate = new();
    private IRpcStream _current = first;
    private IMessage? _sent;
    private bool _compress;
    private bool _completed;
    private bool _began;
    private bool _disposed;

    /// <inheritdoc/>
    public ReplyBody Current => _current.Current;

    /// <inheritdoc/>
    public ValueTask<bool> SendAsync(IMessage message, bool compress)
    {
        lock (_gate)
        {
            // One, of a method that takes one. Of a stream they are not kept, so next gives null there.
            _sent ??= _began ? null : message;
            _compress = compress;
            return _current.SendAsync(message, compress);
        }
    }

    /// <inheritdoc/>
    public ValueTask CompleteAsync()
    {
        lock (_gate)
        {
            _completed = true;
            return _current.CompleteAsync();
        }
    }

    /// <inheritdoc/>
    public ValueTask<bool> ReadAsync() => _began ? _current.ReadAsync() : BeginAsync();

    /// <inheritdoc/>
    public ValueTask DisposeAsync()
    {
        lock (_gate)
        {
            _disposed = true;
            kept?.Dispose();
            return _current.DisposeAsync();
        }
    }

    private async ValueTask<bool> BeginAsync()
    {
        while (true)
        {
            try
            {
                bool any = await _current.ReadAsync().ConfigureAwait(false);
                _began = true;
                _sent = null;
                kept?.Dispose();
                return any;
            }
            catch (RpcException e) when (CallErrors.IsUnreached(e))
            {
                if (_disposed || await next(e).ConfigureAwait(false) is not { } again)
                {
                    throw;
                }

                if (!await GoOnWithAsync(again).ConfigureAwait(false))
                {
                    throw;
                }
            }
        }
    }

    // False when the call was given up meanwhile: of the new try the server has no message then.
    private async ValueTask<bool> GoOnWithAsync(IRpcStream again)
    {
        IRpcStream failed = _current;
        ValueTask<bool> sending = new(true);
        bool disposed;
        lock (_gate)
        {
            disposed = _disposed;
            if (!disposed)
            {
                _current = again;
                if (_sent is { } message)
                {
                    sending = again.SendAsync(message, _compress);
                }
            }
        }

        if (disposed)
        {
            await again.DisposeAsync().ConfigureAwait(false);
            return false;
        }

        await failed.DisposeAsync().ConfigureAwait(false);
        if (await sending.ConfigureAwait(false) && _completed)
        {
            await again.CompleteAsync().ConfigureAwait(false);
        }

        return true;
    }
}

using Google.Protobuf;
using ProtoRpc.Transports;

namespace ProtoRpc.Client;

/// <summary>A streaming call that is retried, on the same or another server, as long as the server cannot
/// have run it. Once a part of the reply has arrived, it is not retried.</summary>
/// <param name="first">The first attempt.</param>
/// <param name="next">Returns the next attempt, or null to throw the failure.</param>
/// <param name="kept">Keeps the request for retries; null if another object keeps it, or if the call is not
/// retried.</param>
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

    /// <summary>Called when a server has begun to reply; null for nothing.</summary>
    public Action? Began { get; init; }

    /// <inheritdoc/>
    public ReplyBody Current => _current.Current;

    /// <inheritdoc/>
    public ValueTask<bool> SendAsync(IMessage message, bool compress)
    {
        lock (_gate)
        {
            // The single request of a method that takes one. Requests of a stream are not kept; next returns
            // null for them.
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
                Began?.Invoke();
                return any;
            }
            catch (RpcException e) when (CallErrors.IsUnreached(e) || CallErrors.IsBusy(e))
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

    // Returns false if the call was cancelled meanwhile. The new attempt has then sent no message.
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

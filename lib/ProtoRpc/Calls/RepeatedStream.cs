using System.Buffers;
using Google.Protobuf;

namespace ProtoRpc.Calls;

/// <summary>A call that is made again, elsewhere or later, as long as the server surely did not take it. Once
/// something of its reply has come it is as any other.</summary>
/// <param name="first">The first try.</param>
/// <param name="next">Gives the next try, or null when the failure is to be told.</param>
internal sealed class RepeatedStream(IRpcStream first, Func<RpcException, ValueTask<IRpcStream?>> next)
    : IRpcStream
{
    private readonly Lock _gate = new();
    private IRpcStream _current = first;
    private IMessage? _sent;
    private bool _compress;
    private bool _completed;
    private bool _began;

    /// <inheritdoc/>
    public ReadOnlySequence<byte> Current => _current.Current;

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
    public ValueTask DisposeAsync() => _current.DisposeAsync();

    private async ValueTask<bool> BeginAsync()
    {
        while (true)
        {
            try
            {
                bool any = await _current.ReadAsync().ConfigureAwait(false);
                _began = true;
                _sent = null;
                return any;
            }
            catch (RpcException e) when (e is { Code: RpcStatusCode.Unavailable, MayHaveExecuted: false })
            {
                if (await next(e).ConfigureAwait(false) is not { } again)
                {
                    throw;
                }

                await GoOnWithAsync(again).ConfigureAwait(false);
            }
        }
    }

    private async ValueTask GoOnWithAsync(IRpcStream again)
    {
        IRpcStream failed = _current;
        ValueTask<bool> sending = new(true);
        lock (_gate)
        {
            _current = again;
            if (_sent is { } message)
            {
                sending = again.SendAsync(message, _compress);
            }
        }

        await failed.DisposeAsync().ConfigureAwait(false);
        if (await sending.ConfigureAwait(false) && _completed)
        {
            await again.CompleteAsync().ConfigureAwait(false);
        }
    }
}

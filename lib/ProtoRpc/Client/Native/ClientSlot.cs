using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Native;

/// <summary>What one call at a time of a client needs, kept for the next call: a request buffer, and a
/// connection for either way of calling.</summary>
internal sealed class ClientSlot : IDisposable
{
    private readonly NativeClient _client;
    private NativeConnection? _blocking;
    private NativeConnection? _async;

    public ClientSlot(NativeClient client)
    {
        _client = client;
        Request =
            new PooledMessageBytes(
                client.Limits.MaxMessageBytes, "request", ClientAssociation.RequestPrefix);
    }

    /// <summary>The request of the call.</summary>
    public PooledMessageBytes Request { get; }

    /// <summary>The connection of calls that wait so.</summary>
    /// <param name="clock">For connecting.</param>
    /// <param name="bound">How long connecting may take; null for as long as the clock says.</param>
    public ValueTask<(NativeConnection Connection, bool IsFresh)> GetAsync<TWait>(
        CallClock clock, TimeSpan? bound = null)
        where TWait : struct, IWaitMode =>
        KeepUsable(ref Kept<TWait>()) is { } kept
            ? new((kept, false))
            : OpenAsync<TWait>(bound is { } time ? clock.Within(time) : clock);

    /// <summary>Closes a connection that must not be used again.</summary>
    public void Drop(NativeConnection connection)
    {
        Close(ref connection == _blocking ? ref _blocking : ref _async);
    }

    /// <summary>Ends the call that waits for its answer, if there is one; for any thread.</summary>
    public void CancelCall()
    {
        Volatile.Read(ref _blocking)?.CancelCall();
        Volatile.Read(ref _async)?.CancelCall();
    }

    /// <summary>Forgets the call.</summary>
    public void Reset()
    {
        _blocking?.Release();
        _async?.Release();
        Request.Reset();
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        Close(ref _blocking);
        Close(ref _async);
        Request.Dispose();
    }

    private async ValueTask<(NativeConnection Connection, bool IsFresh)> OpenAsync<TWait>(CallClock clock)
        where TWait : struct, IWaitMode
    {
        NativeConnection fresh = _client.Adopt(
            await NativeConnection.OpenAsync<TWait>(_client, clock).ConfigureAwait(false));
        return (Kept<TWait>() = fresh, true);
    }

    // A socket that was once used asynchronously is slow for blocking calls ever after.
    private ref NativeConnection? Kept<TWait>()
        where TWait : struct, IWaitMode =>
        ref typeof(TWait) == typeof(BlockingWait) ? ref _blocking : ref _async;

    private NativeConnection? KeepUsable(ref NativeConnection? connection)
    {
        if (connection is { } known && !known.IsUsable())
        {
            Close(ref connection);
        }

        return connection;
    }

    private void Close(ref NativeConnection? connection)
    {
        if (Interlocked.Exchange(ref connection, null) is { } open)
        {
            open.Dispose();
            _client.Forget();
        }
    }
}

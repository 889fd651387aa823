using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Native;

/// <summary>The resources of one call at a time, kept for the next call: a request buffer, a connection for
/// blocking calls, and one for asynchronous calls.</summary>
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
                client.Limits.MaxMessageBytes, "request", ClientAssociation.RequestPrefix,
                ClientAssociation.RequestSuffix);
    }

    /// <summary>The request of the call.</summary>
    public PooledMessageBytes Request { get; }

    /// <summary>Returns the connection for calls that wait in this way, and connects if necessary.</summary>
    /// <param name="clock">The time for connecting.</param>
    /// <param name="bound">The maximum time for connecting; null for that of the clock.</param>
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

    /// <summary>Cancels the call that waits for its answer, if any. Call it from any thread.</summary>
    public void CancelCall()
    {
        Volatile.Read(ref _blocking)?.CancelCall();
        Volatile.Read(ref _async)?.CancelCall();
    }

    /// <summary>Clears the call.</summary>
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
        NativeConnection fresh = await _client.OpenAsync<TWait>(clock).ConfigureAwait(false);
        return (Kept<TWait>() = fresh, true);
    }

    // Separate connections: .NET makes blocking calls slow on a socket that was once used asynchronously.
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

using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Native;

/// <summary>What one call at a time of a client needs, kept for the next call: a request buffer, and a
/// connection for either way of calling.</summary>
internal sealed class ClientSlot : IDisposable
{
    private readonly NativeClient _client;
    private ClientConnection? _blocking;
    private ClientConnection? _async;

    public ClientSlot(NativeClient client)
    {
        _client = client;
        Request =
            new MessageBuffer(ClientAssociation.RequestPrefix, client.Limits.MaxMessageBytes, "request");
    }

    /// <summary>The request of the call.</summary>
    public MessageBuffer Request { get; }

    /// <summary>The connection of blocking calls.</summary>
    /// <param name="timeout">For connecting.</param>
    /// <param name="cancellation">For connecting.</param>
    /// <param name="isFresh">Whether it was opened just now.</param>
    public ClientConnection GetBlocking(TimeSpan timeout, CancellationToken cancellation, out bool isFresh)
    {
        isFresh = !KeepUsable(ref _blocking);
        return _blocking ??= _client.Adopt(BlockingWait.End(
            ClientConnection.OpenAsync<BlockingWait>(_client, timeout, cancellation)));
    }

    /// <summary>The connection of asynchronous calls.</summary>
    public async ValueTask<(ClientConnection Connection, bool IsFresh)> GetAsync(
        TimeSpan timeout, CancellationToken cancellation)
    {
        bool isFresh = !KeepUsable(ref _async);
        _async ??= _client.Adopt(
            await ClientConnection.OpenAsync<AsyncWait>(_client, timeout, cancellation)
                .ConfigureAwait(false));
        return (_async, isFresh);
    }

    /// <summary>Closes a connection that must not be used again.</summary>
    public void Drop(ClientConnection connection)
    {
        Close(ref connection == _blocking ? ref _blocking : ref _async);
    }

    /// <summary>Forgets the call.</summary>
    public void Reset()
    {
        Request.Reset();
        _blocking?.Release();
        _async?.Release();
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        Close(ref _blocking);
        Close(ref _async);
        Request.Dispose();
    }

    private bool KeepUsable(ref ClientConnection? connection)
    {
        if (connection is { } known && !known.IsUsable())
        {
            Close(ref connection);
        }

        return connection is not null;
    }

    private void Close(ref ClientConnection? connection)
    {
        if (Interlocked.Exchange(ref connection, null) is { } open)
        {
            open.Dispose();
            _client.Forget();
        }
    }
}

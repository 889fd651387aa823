using ProtoRpc.Protocols;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Native;

/// <summary>A client's connection to one interface: one call at a time.</summary>
internal abstract class NativeConnection : IDisposable
{
    /// <summary>The reply's payload, until the next call.</summary>
    public abstract ReadOnlyMemory<byte> Reply { get; }

    /// <summary>The association group that the server assigned; 0 for none.</summary>
    public virtual uint AssociationGroup => 0;

    /// <summary>Connects to a client's interface.</summary>
    public static ValueTask<NativeConnection> OpenAsync<TWait>(NativeClient client, CallClock clock)
        where TWait : struct, IWaitMode =>
        client.Messages is { } transport
            ? MessageConnection.ReachAsync<TWait>(client, transport, clock)
            : ClientConnection.BindAsync<TWait>(client, clock);

    /// <summary>Whether the connection is still open after a pause. This detects a restarted
    /// server.</summary>
    public abstract bool IsUsable();

    /// <summary>Sends a request and waits for its answer.</summary>
    /// <returns>The return code; null if the connection broke before the server can have received the
    /// request.</returns>
    /// <exception cref="RpcException">The call failed; the connection must then be closed.</exception>
    public ValueTask<uint?> ExecuteAsync<TWait>(PooledMessageBytes request, CallClock clock)
        where TWait : struct, IWaitMode =>
        typeof(TWait) == typeof(BlockingWait) ? Execute(request, clock) : ExecuteAsync(request, clock);

    /// <summary>Cancels the call that waits for its answer, if any. Call it from any thread.</summary>
    public abstract void CancelCall();

    /// <summary>Releases the reply's memory.</summary>
    public abstract void Release();

    /// <inheritdoc/>
    public abstract void Dispose();

    // Two methods instead of a generic one, because virtual generic calls are slow.
    protected abstract ValueTask<uint?> Execute(PooledMessageBytes request, CallClock clock);

    protected abstract ValueTask<uint?> ExecuteAsync(PooledMessageBytes request, CallClock clock);
}

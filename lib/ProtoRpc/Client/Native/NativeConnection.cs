using ProtoRpc.Protocols;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Native;

/// <summary>A client's connection to one interface: one call at a time.</summary>
internal abstract class NativeConnection : IDisposable
{
    /// <summary>The reply's payload, until the next call.</summary>
    public abstract ReadOnlyMemory<byte> Reply { get; }

    /// <summary>The group that the server put this connection in; 0 for none.</summary>
    public virtual uint AssociationGroup => 0;

    /// <summary>Connects to the interface of a client.</summary>
    public static ValueTask<NativeConnection> OpenAsync<TWait>(NativeClient client, CallClock clock)
        where TWait : struct, IWaitMode =>
        client.Messages is { } transport
            ? MessageConnection.ReachAsync<TWait>(client, transport, clock)
            : ClientConnection.BindAsync<TWait>(client, clock);

    /// <summary>Whether the connection still stands after a rest;
    /// a server that was restarted shows here.</summary>
    public abstract bool IsUsable();

    /// <summary>Sends a request and waits for its answer.</summary>
    /// <returns>The return code; null when the connection broke before the server can have the
    /// request.</returns>
    /// <exception cref="RpcException">The call failed; the connection must then be closed.</exception>
    public ValueTask<uint?> ExecuteAsync<TWait>(PooledMessageBytes request, CallClock clock)
        where TWait : struct, IWaitMode =>
        typeof(TWait) == typeof(BlockingWait) ? Execute(request, clock) : ExecuteAsync(request, clock);

    /// <summary>Ends the call that waits for its answer, if there is one; for any thread.</summary>
    public abstract void CancelCall();

    /// <summary>Forgets the reply, so that its memory is free.</summary>
    public abstract void Release();

    /// <inheritdoc/>
    public abstract void Dispose();

    // Two methods and not a generic one: a virtual call of a generic method is slow.
    protected abstract ValueTask<uint?> Execute(PooledMessageBytes request, CallClock clock);

    protected abstract ValueTask<uint?> ExecuteAsync(PooledMessageBytes request, CallClock clock);
}

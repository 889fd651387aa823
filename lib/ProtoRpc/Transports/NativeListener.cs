namespace ProtoRpc.Transports;

/// <summary>A bound native endpoint; any number of interfaces of this process share it.</summary>
public sealed class NativeListener : IAsyncDisposable
{
    /// <summary>The endpoint as bound, with the port that the system picked.</summary>
    public RpcEndpoint Endpoint => throw new NotImplementedException();

    /// <summary>Connections now open.</summary>
    public int ConnectionCount => throw new NotImplementedException();

    /// <summary>Connections accepted since it was bound.</summary>
    public long AcceptedCount => throw new NotImplementedException();

    /// <summary>Serves an interface on an endpoint, binding the endpoint if no listener of this process has it yet.</summary>
    /// <exception cref="RpcException">AlreadyExists where the endpoint is in use by another process, or this
    /// interface is served there already; Unavailable or PermissionDenied where it cannot be bound.</exception>
    public static NativeListener Serve(RpcEndpoint endpoint, ExecInterface service, RpcLimits limits) =>
        throw new NotImplementedException();

    /// <summary>Stops serving an interface here: new calls are refused at once, running calls may end within the
    /// drain time and are then cancelled. The endpoint is closed with its last interface.</summary>
    public ValueTask StopServingAsync(Guid interfaceId, TimeSpan drain) => throw new NotImplementedException();

    /// <summary>Closes the endpoint at once.</summary>
    public ValueTask DisposeAsync() => throw new NotImplementedException();
}

namespace ProtoRpc.Transports;

/// <summary>A client of one interface on one native endpoint: as many connections as there are calls at the same
/// time, kept for the next ones. Safe for use by many threads.</summary>
public sealed class NativeClient : IDisposable
{
    /// <summary>The endpoint.</summary>
    public RpcEndpoint Endpoint => throw new NotImplementedException();

    /// <summary>Connections now open.</summary>
    public int ConnectionCount => throw new NotImplementedException();

    /// <summary>Connects and binds, so that a wrong endpoint or interface shows at once.</summary>
    /// <exception cref="RpcException">Unavailable (refused, no such pipe), DeadlineExceeded, Unimplemented (the
    /// interface is not served there), Internal (the peer does not speak DCE/RPC).</exception>
    public static NativeClient Connect(
        RpcEndpoint endpoint, Guid interfaceId, RpcLimits limits, CancellationToken cancellation = default) =>
        throw new NotImplementedException();

    /// <summary>Begins a call: takes an idle connection, or opens one.</summary>
    public NativeExchange Begin(CancellationToken cancellation = default) => throw new NotImplementedException();

    /// <inheritdoc/>
    public void Dispose() => throw new NotImplementedException();
}

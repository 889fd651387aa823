namespace ProtoRpc.Transports;

/// <summary>A way to carry the native protocol.
/// One file for each, with a <see cref="TransportAttribute"/> at its head.</summary>
internal interface INativeTransport : ITransport
{
    /// <summary>Binds an endpoint.</summary>
    /// <exception cref="RpcException">AlreadyExists, PermissionDenied,
    /// Unavailable, InvalidArgument.</exception>
    TransportListener Listen(RpcEndpoint endpoint);

    /// <summary>Connects with blocking calls.</summary>
    /// <exception cref="RpcException">Unavailable, DeadlineExceeded, Cancelled, PermissionDenied.</exception>
    TransportConnection Connect(RpcEndpoint endpoint, TimeSpan timeout, CancellationToken cancellation);
}

/// <summary>A bound endpoint that gives connections.</summary>
internal abstract class TransportListener : IDisposable
{
    /// <summary>The endpoint as bound.</summary>
    public abstract RpcEndpoint Endpoint { get; }

    /// <summary>The endpoint as bind_ack names it.</summary>
    public abstract string SecondaryAddress { get; }

    /// <summary>Called for each connection that was closed, or not accepted, because the process has too few
    /// free file handles; null for nothing.</summary>
    public Action? HandleMissing { get; set; }

    /// <summary>Waits for the next connection.</summary>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    /// <exception cref="ObjectDisposedException">The listener was disposed.</exception>
    public abstract ValueTask<TransportConnection> AcceptAsync(CancellationToken cancellation);

    /// <summary>Closes the endpoint; accepted connections live on.</summary>
    public abstract void Dispose();
}

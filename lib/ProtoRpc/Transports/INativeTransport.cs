namespace ProtoRpc.Transports;

/// <summary>A way to carry the native protocol.
/// One file for each, and a line in <see cref="NativeTransports"/>.</summary>
internal interface INativeTransport
{
    /// <summary>Binds an endpoint.</summary>
    /// <exception cref="RpcException">AlreadyExists, PermissionDenied,
    /// Unavailable, InvalidArgument.</exception>
    TransportListener Listen(RpcEndpoint endpoint);

    /// <summary>Connects with blocking calls.</summary>
    /// <exception cref="RpcException">Unavailable, DeadlineExceeded, Cancelled, PermissionDenied.</exception>
    TransportConnection Connect(RpcEndpoint endpoint, TimeSpan timeout, CancellationToken cancellation);
}

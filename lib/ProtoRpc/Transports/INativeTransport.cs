namespace ProtoRpc.Transports;

/// <summary>A way to carry the native protocol.
/// One file for each, with a <see cref="NativeTransportAttribute"/> at its head.</summary>
internal interface INativeTransport
{
    /// <summary>Whether this operating system has it.</summary>
    bool IsOfThisSystem => true;

    /// <summary>Binds an endpoint.</summary>
    /// <exception cref="RpcException">AlreadyExists, PermissionDenied,
    /// Unavailable, InvalidArgument.</exception>
    TransportListener Listen(RpcEndpoint endpoint);

    /// <summary>Connects with blocking calls.</summary>
    /// <exception cref="RpcException">Unavailable, DeadlineExceeded, Cancelled, PermissionDenied.</exception>
    TransportConnection Connect(RpcEndpoint endpoint, TimeSpan timeout, CancellationToken cancellation);
}

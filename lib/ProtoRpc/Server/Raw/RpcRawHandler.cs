namespace ProtoRpc;

/// <summary>Handles the calls of an interface: bytes in, bytes out.</summary>
/// <param name="client">Who calls.</param>
/// <param name="request">The request; the memory is used again after the call.</param>
/// <returns>The reply. Null is answered with return code 1715, an <see cref="RpcException"/> that refuses the
/// caller (PermissionDenied, Unauthenticated) with 5, and any other exception with 0x80004005.</returns>
public delegate ValueTask<ReadOnlyMemory<byte>?> RpcRawHandler(
    RpcRawContext client, ReadOnlyMemory<byte> request);

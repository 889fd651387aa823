namespace ProtoRpc;

/// <summary>Handles the calls of an interface: bytes in, bytes out.</summary>
/// <param name="client">The context of the call.</param>
/// <param name="request">The request; its memory is reused after the call.</param>
/// <returns>The reply. Null sends return code 1715. An <see cref="RpcException"/> with PermissionDenied or
/// Unauthenticated sends 5, and any other exception 0x80004005.</returns>
public delegate ValueTask<ReadOnlyMemory<byte>?> RpcRawHandler(
    RpcRawContext client, ReadOnlyMemory<byte> request);

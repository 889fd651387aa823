namespace ProtoRpc;

/// <summary>Stands around every call of an interface of the raw layer: authorisation,
/// logging and auditing hang here.</summary>
/// <remarks>May run on many threads in parallel.</remarks>
public interface IRpcRawInterceptor
{
    /// <summary>Sees a call, and passes it on or not.</summary>
    /// <param name="client">Who calls.</param>
    /// <param name="request">The request; the memory is used again after the call.</param>
    /// <param name="next">The rest of the chain, with the handler at its end.</param>
    /// <returns>The reply: what <paramref name="next"/> gave, or other bytes.</returns>
    /// <exception cref="RpcException">PermissionDenied or Unauthenticated to refuse the call, which is return
    /// code 5 to the caller; any other is 0x80004005.</exception>
    ValueTask<ReadOnlyMemory<byte>?> InvokeAsync(
        RpcRawContext client, ReadOnlyMemory<byte> request, RpcRawHandler next);
}

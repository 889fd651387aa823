namespace ProtoRpc;

/// <summary>Intercepts every call of a raw interface, for example for authorization, logging or
/// auditing.</summary>
/// <remarks>May run on many threads in parallel.</remarks>
public interface IRpcRawInterceptor
{
    /// <summary>Intercepts a call. Calls <paramref name="next"/> to pass it on, or returns its own
    /// reply.</summary>
    /// <param name="client">The context of the call.</param>
    /// <param name="request">The request; its memory is reused after the call.</param>
    /// <param name="next">The next interceptor, or the handler.</param>
    /// <returns>The reply of <paramref name="next"/>, or other bytes.</returns>
    /// <exception cref="RpcException">Throw PermissionDenied or Unauthenticated to reject the call; the
    /// caller receives return code 5. Any other exception is return code 0x80004005.</exception>
    ValueTask<ReadOnlyMemory<byte>?> InvokeAsync(
        RpcRawContext client, ReadOnlyMemory<byte> request, RpcRawHandler next);
}

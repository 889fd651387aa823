using Google.Protobuf;

namespace ProtoRpc.Calls.Interceptors;

/// <summary>Stands around every call of a server: authorisation, logging and auditing hang here.</summary>
/// <remarks>Sees the built-in methods too. May run on many threads at once.</remarks>
public interface IRpcInterceptor
{
    /// <summary>Sees a call, and passes it on or not.</summary>
    /// <param name="context">Who calls what.</param>
    /// <param name="request">The request, read and checked.</param>
    /// <param name="next">The rest of the chain, with the handler at its end.</param>
    /// <returns>The reply: what <paramref name="next"/> gave, or another message of the method's reply type.</returns>
    /// <exception cref="RpcException">To refuse the call, with the status that the caller gets.</exception>
    ValueTask<IMessage> InvokeAsync(RpcCallContext context, IMessage request, RpcHandler next);
}

using Google.Protobuf;

namespace ProtoRpc;

/// <summary>Intercepts every call of a client, on every transport. Use it for tokens, logging, retries or
/// caches.</summary>
/// <remarks>
/// <para>An interceptor runs outside the retries of <see cref="RpcClientOptions.RetryCount"/> and <see
/// cref="RpcCallOptions.WaitForReady"/>: each call of <c>next</c> is retried as often as they say, and throws
/// only the last failure. An interceptor may call <c>next</c> again, one call after the other. All calls
/// share the deadline.</para>
/// <para>Blocking calls also run through interceptors, and block the caller's thread meanwhile. Pings and
/// requests for the server's schema do not.</para>
/// <para>An interceptor may run on many threads in parallel. Its exceptions are thrown to the caller.</para>
/// </remarks>
public interface IRpcClientInterceptor
{
    /// <summary>Intercepts a unary call. Calls <paramref name="next"/> to send it, or returns its own
    /// reply.</summary>
    /// <param name="context">The context of the call. Its headers may be changed.</param>
    /// <param name="request">The checked request. For <see cref="RpcClient.Upload"/>, an empty message: the
    /// bytes come from <see cref="RpcClientCallContext.Upload"/>.</param>
    /// <param name="next">The next interceptor, or the transport.</param>
    /// <returns>The reply of <paramref name="next"/>, or another message of the method's reply
    /// type.</returns>
    /// <exception cref="RpcException">The call failed; <see cref="RpcException.Trailers"/> contains the
    /// server's trailers.</exception>
    ValueTask<IMessage> InvokeAsync(RpcClientCallContext context, IMessage request, RpcClientHandler next);

    /// <summary>Intercepts a streaming call. Calls <paramref name="next"/> to begin it, or returns its own
    /// stream.</summary>
    /// <param name="context">The context of the call. Its headers may be changed.</param>
    /// <param name="next">The next interceptor, or the transport. Reading the stream reports a failure of the
    /// server.</param>
    /// <returns>The stream of <paramref name="next"/>, a stream that wraps it to see the messages, or another
    /// stream.</returns>
    ValueTask<RpcClientStream> OpenAsync(RpcClientCallContext context, RpcClientStreamHandler next);
}

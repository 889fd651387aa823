using Google.Protobuf;

namespace ProtoRpc;

/// <summary>Stands around every call of a client, on every transport: tokens, logging, retries and caches
/// hang here.</summary>
/// <remarks>
/// <para>An interceptor stands outside of <see cref="RpcClientOptions.RetryCount"/> and
/// <see cref="RpcCallOptions.WaitForReady"/>: what it passes on is tried as often as they say, and only the
/// last failure comes back to it. It may itself call <c>next</c> again, one call after the other, all within
/// the deadline of the call.</para>
/// <para>Blocking calls run through interceptors as well, and hold the caller's thread meanwhile. Pings and
/// questions for the server's schema do not.</para>
/// <para>May run on many threads in parallel. Its exceptions are thrown to the caller.</para>
/// </remarks>
public interface IRpcClientInterceptor
{
    /// <summary>Sees a call with one request and one reply, and passes it on or not.</summary>
    /// <param name="context">What is called, with its headers, which may be changed.</param>
    /// <param name="request">The request, checked; for <see cref="RpcClient.Upload"/> an empty message: the
    /// bytes come from <see cref="RpcClientCallContext.Upload"/>.</param>
    /// <param name="next">The rest of the chain, with the transport at its end.</param>
    /// <returns>The reply: what <paramref name="next"/> gave,
    /// or another message of the method's reply type.</returns>
    /// <exception cref="RpcException">The call failed; <see cref="RpcException.Trailers"/> has what the
    /// server sent with it.</exception>
    ValueTask<IMessage> InvokeAsync(RpcClientCallContext context, IMessage request, RpcClientHandler next);

    /// <summary>Sees a call whose messages go and come one at a time, and passes it on or not.</summary>
    /// <param name="context">What is called, with its headers, which may be changed.</param>
    /// <param name="next">The rest of the chain, with the transport at its end. A failure of the server shows
    /// when the stream is read.</param>
    /// <returns>The stream of <paramref name="next"/>, a stream around it that sees the messages, or another
    /// stream.</returns>
    ValueTask<RpcClientStream> OpenAsync(RpcClientCallContext context, RpcClientStreamHandler next);
}

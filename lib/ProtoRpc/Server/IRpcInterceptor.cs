namespace ProtoRpc;

/// <summary>Intercepts every call of a server, for example for authorization, logging or auditing.</summary>
/// <remarks>Also runs for the built-in methods. May run on many threads in parallel.</remarks>
/// <example><code>
/// internal sealed class CheckInterceptor : IRpcInterceptor
/// {
///     public ValueTask&lt;IMessage> InvokeAsync(
///         RpcServerCallContext context, IMessage request, RpcHandler next) =>
///         context.RequestHeaders.GetText("x-tenant") is null
///             ? throw new RpcException(RpcStatusCode.InvalidArgument, "x-tenant is missing.")
///             : next(context, request);
/// }
/// </code></example>
public interface IRpcInterceptor
{
    /// <summary>Intercepts a unary call. Calls <paramref name="next"/> to pass it on, or returns its own
    /// reply.</summary>
    /// <param name="context">The context of the call.</param>
    /// <param name="request">The checked request.</param>
    /// <param name="next">The next interceptor, or the handler.</param>
    /// <returns>The reply of <paramref name="next"/>, or another message of the method's reply
    /// type.</returns>
    /// <exception cref="RpcException">Throw it to reject the call with its status.</exception>
    ValueTask<IMessage> InvokeAsync(RpcServerCallContext context, IMessage request, RpcHandler next);

    /// <summary>Intercepts a streaming call. The default implementation calls <see cref="InvokeAsync"/> once
    /// for the whole call: with the request of a method that takes one request, otherwise with an empty
    /// message. The returned message is the only reply if the call was not passed on, and is ignored
    /// otherwise.</summary>
    /// <param name="context">The context of the call.</param>
    /// <param name="stream">The messages in both directions.</param>
    /// <param name="next">The next interceptor, or the handler.</param>
    /// <exception cref="RpcException">Throw it to reject the call with its status.</exception>
    async ValueTask InvokeStreamAsync(
        RpcServerCallContext context, RpcServerStream stream, RpcStreamHandler next)
    {
        ArgumentNullException.ThrowIfNull(context);
        ArgumentNullException.ThrowIfNull(stream);
        bool passedOn = false;
        IMessage reply = await InvokeAsync(
            context, await stream.PeekAsync().ConfigureAwait(false), PassOnAsync).ConfigureAwait(false);
        if (!passedOn)
        {
            await stream.WriteAsync(reply).ConfigureAwait(false);
        }

        async ValueTask<IMessage> PassOnAsync(RpcServerCallContext passed, IMessage request)
        {
            passedOn = true;
            stream.Replace(request);
            await next(passed, stream).ConfigureAwait(false);
            return new DynamicMessage(passed.Method.ReplyType);
        }
    }
}

/// <summary>Links interceptors around a handler, once for each method.</summary>
internal static class InterceptorChain
{
    /// <summary>Wraps a handler in interceptors. The first one is outermost.</summary>
    public static RpcHandler Around(RpcHandler handler, IReadOnlyList<IRpcInterceptor> interceptors) =>
        Link(handler, interceptors, static (interceptor, next) =>
            (context, request) => interceptor.InvokeAsync(context, request, next));

    /// <summary>Wraps a handler of raw calls in interceptors.</summary>
    public static RpcRawHandler Around(
        RpcRawHandler handler, IReadOnlyList<IRpcRawInterceptor> interceptors) =>
        Link(handler, interceptors, static (interceptor, next) =>
            (client, request) => interceptor.InvokeAsync(client, request, next));

    /// <summary>Wraps a handler of streams in interceptors.</summary>
    public static RpcStreamHandler Around(
        RpcStreamHandler handler, IReadOnlyList<IRpcInterceptor> interceptors) =>
        Link(handler, interceptors, static (interceptor, next) =>
            (context, stream) => interceptor.InvokeStreamAsync(context, stream, next));

    private static THandler Link<THandler, TInterceptor>(
        THandler handler,
        IReadOnlyList<TInterceptor> interceptors,
        Func<TInterceptor, THandler, THandler> around)
    {
        THandler chain = handler;
        for (int i = interceptors.Count - 1; i >= 0; i--)
        {
            chain = around(interceptors[i], chain);
        }

        return chain;
    }
}

/// <summary>An interceptor that does not read messages while their call runs. A gateway does not decode
/// messages for it.</summary>
internal interface IPassesBytes;

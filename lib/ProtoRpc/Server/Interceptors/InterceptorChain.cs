namespace ProtoRpc.Server.Interceptors;

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

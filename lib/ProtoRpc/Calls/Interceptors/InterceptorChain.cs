using ProtoRpc.Calls.Raw;

namespace ProtoRpc.Calls.Interceptors;

/// <summary>Links interceptors around a handler, once for each method.</summary>
internal static class InterceptorChain
{
    /// <summary>The handler with the interceptors around it, the first one outermost.</summary>
    public static RpcHandler Around(RpcHandler handler, IReadOnlyList<IRpcInterceptor> interceptors)
    {
        RpcHandler chain = handler;
        for (int i = interceptors.Count - 1; i >= 0; i--)
        {
            IRpcInterceptor interceptor = interceptors[i];
            RpcHandler next = chain;
            chain = (context, request) => interceptor.InvokeAsync(context, request, next);
        }

        return chain;
    }

    /// <summary>The same on the raw layer.</summary>
    public static RpcRawHandler Around(RpcRawHandler handler, IReadOnlyList<IRpcRawInterceptor> interceptors)
    {
        RpcRawHandler chain = handler;
        for (int i = interceptors.Count - 1; i >= 0; i--)
        {
            IRpcRawInterceptor interceptor = interceptors[i];
            RpcRawHandler next = chain;
            chain = (client, request) => interceptor.InvokeAsync(client, request, next);
        }

        return chain;
    }

    /// <summary>The same for a handler of streams.</summary>
    public static RpcStreamHandler Around(
        RpcStreamHandler handler, IReadOnlyList<IRpcInterceptor> interceptors)
    {
        RpcStreamHandler chain = handler;
        for (int i = interceptors.Count - 1; i >= 0; i--)
        {
            IRpcInterceptor interceptor = interceptors[i];
            RpcStreamHandler next = chain;
            chain = (context, stream) => interceptor.InvokeStreamAsync(context, stream, next);
        }

        return chain;
    }
}

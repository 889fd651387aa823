using Google.Protobuf;
using Microsoft.Extensions.DependencyInjection;

namespace ProtoRpc.Hosting.Application;

/// <summary>An interceptor of the application's services, taken from the scope of each call.</summary>
internal sealed class ServiceInterceptor<TInterceptor> : IRpcInterceptor
    where TInterceptor : class, IRpcInterceptor
{
    public ValueTask<IMessage> InvokeAsync(RpcServerCallContext context, IMessage request, RpcHandler next) =>
        Of(context).InvokeAsync(context, request, next);

    public ValueTask InvokeStreamAsync(
        RpcServerCallContext context, RpcServerStream stream, RpcStreamHandler next) =>
        Of(context).InvokeStreamAsync(context, stream, next);

    private static IRpcInterceptor Of(RpcServerCallContext context) =>
        context.Services!.GetRequiredService<TInterceptor>();
}

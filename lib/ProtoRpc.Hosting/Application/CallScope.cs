using Google.Protobuf;
using Microsoft.Extensions.DependencyInjection;

namespace ProtoRpc.Hosting.Application;

/// <summary>Gives each call a scope of the application's services. A call on the application's own endpoints
/// has one already, which its middleware shares.</summary>
internal sealed class CallScope(IServiceScopeFactory scopes) : IRpcInterceptor
{
    public async ValueTask<IMessage> InvokeAsync(
        RpcServerCallContext context, IMessage request, RpcHandler next)
    {
        if (context.Services is not null)
        {
            return await next(context, request).ConfigureAwait(false);
        }

        AsyncServiceScope scope = scopes.CreateAsyncScope();
        await using (scope.ConfigureAwait(false))
        {
            context.Services = scope.ServiceProvider;
            return await next(context, request).ConfigureAwait(false);
        }
    }

    public async ValueTask InvokeStreamAsync(
        RpcServerCallContext context, RpcServerStream stream, RpcStreamHandler next)
    {
        if (context.Services is not null)
        {
            await next(context, stream).ConfigureAwait(false);
            return;
        }

        AsyncServiceScope scope = scopes.CreateAsyncScope();
        await using (scope.ConfigureAwait(false))
        {
            context.Services = scope.ServiceProvider;
            await next(context, stream).ConfigureAwait(false);
        }
    }
}

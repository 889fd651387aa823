using Google.Protobuf;

namespace ProtoRpc.Http.Tests.Hosting;

/// <summary>Shows a test the context of each call.</summary>
internal sealed class RpcCallProbe(Action<RpcServerCallContext> see) : IRpcInterceptor
{
    public ValueTask<IMessage> InvokeAsync(RpcServerCallContext context, IMessage request, RpcHandler next)
    {
        see(context);
        return next(context, request);
    }
}

using Google.Protobuf;

namespace ProtoRpc.TrimmedTests;

/// <summary>Counts the calls that pass through it.</summary>
internal sealed class CountingInterceptor(CallCount count) : IRpcInterceptor
{
    public ValueTask<IMessage> InvokeAsync(RpcServerCallContext context, IMessage request, RpcHandler next)
    {
        count.Add();
        return next(context, request);
    }
}

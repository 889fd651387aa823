using Google.Protobuf;

namespace ProtoRpc.Tests.Server;

/// <summary>Counts the calls that pass it.</summary>
internal sealed class CountingInterceptor : IRpcInterceptor
{
    private int _calls;

    public int Calls => _calls;

    public ValueTask<IMessage> InvokeAsync(RpcServerCallContext context, IMessage request, RpcHandler next)
    {
        Interlocked.Increment(ref _calls);
        return next(context, request);
    }
}

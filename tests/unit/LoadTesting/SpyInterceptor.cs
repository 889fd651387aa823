using Google.Protobuf;

namespace ProtoRpc.Tests.LoadTesting;

/// <summary>Counts the calls whose text it has read.</summary>
internal sealed class SpyInterceptor : IRpcClientInterceptor
{
    private int _calls;

    public int Calls => _calls;

    public ValueTask<IMessage> InvokeAsync(
        RpcClientCallContext context, IMessage request, RpcClientHandler next)
    {
        RpcMessageInfo type = context.Method.RequestType;
        object? text = ((DynamicMessage)request).Get(type.FindField("text")!);
        _calls += text is "x" ? 1 : 0;
        return next(context, request);
    }

    public ValueTask<RpcClientStream> OpenAsync(RpcClientCallContext context, RpcClientStreamHandler next) =>
        next(context);
}

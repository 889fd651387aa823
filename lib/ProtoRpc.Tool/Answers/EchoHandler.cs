using Google.Protobuf;

namespace ProtoRpc.Tool.Answers;

/// <summary>Replies with the request's fields, where the reply has a field of that name and type: once, or
/// for each request of two streams. A stream of requests with one reply gets the last one back.</summary>
internal static class EchoHandler
{
    public static RpcMethodHandler Create() => RpcMethodHandler.OfStreams(EchoAsync);

    private static async ValueTask EchoAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        DynamicMessage? last = null;
        await foreach (IMessage request in stream.ReadAllAsync(context.CancellationToken))
        {
            last = Echo(context.Method, (DynamicMessage)request);
            if (context.Method.IsServerStreaming)
            {
                await stream.WriteAsync(last);
            }
        }

        if (!context.Method.IsServerStreaming)
        {
            await stream.WriteAsync(last ?? new DynamicMessage(context.Method.ReplyType));
        }
    }

    private static DynamicMessage Echo(RpcMethodInfo method, DynamicMessage request)
    {
        DynamicMessage reply = new(method.ReplyType);
        foreach (RpcFieldInfo field in method.RequestType.Fields)
        {
            RpcFieldInfo? target = method.ReplyType.FindField(field.Name);
            if (target is not null && HasSameType(field, target)
                && request.Has(field) && request.Get(field) is object value)
            {
                reply.Set(target, value);
            }
        }

        return reply;
    }

    private static bool HasSameType(RpcFieldInfo one, RpcFieldInfo other) =>
        one.Kind == other.Kind
        && one.IsRepeated == other.IsRepeated
        && one.IsMap == other.IsMap
        && one.TypeName == other.TypeName;
}

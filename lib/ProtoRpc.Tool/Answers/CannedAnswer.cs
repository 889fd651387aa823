using ProtoRpc.Formats.Sequences;

namespace ProtoRpc.Tool.Answers;

/// <summary>Replies that are given as JSON.</summary>
internal static class CannedAnswer
{
    /// <summary>Makes handlers that send them.</summary>
    /// <exception cref="RpcException">InvalidArgument: it is no reply of the method, and why.</exception>
    public static Func<RpcMethodInfo, RpcMethodHandler> Of(string json, string where) => method =>
        RpcMethodHandler.OfReplies(Read(method, json, where));

    /// <summary>Makes a handler that sends an empty message.</summary>
    public static RpcMethodHandler Empty(RpcMethodInfo method) =>
        RpcMethodHandler.OfReplies(new DynamicMessage(method.ReplyType));

    /// <summary>The replies.</summary>
    /// <inheritdoc cref="Of"/>
    public static IReadOnlyList<object> Read(RpcMethodInfo method, string json, string where)
    {
        try
        {
            return JsonMessages.Read(method.ReplyType, json, method.IsServerStreaming);
        }
        catch (RpcException e)
        {
            throw e.WithText(
                $"{where} is no {method.ReplyType.FullName}, the reply of {method.FullName}: {e.Message}");
        }
    }
}

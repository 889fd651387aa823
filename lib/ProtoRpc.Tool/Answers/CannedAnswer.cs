namespace ProtoRpc.Tool.Answers;

/// <summary>Replies that are given as JSON.</summary>
internal static class CannedAnswer
{
    /// <summary>Makes handlers that send them.</summary>
    /// <exception cref="RpcException">InvalidArgument: it is no reply of the method, and why.</exception>
    /// <exception cref="UsageException">It is not JSON.</exception>
    public static Func<RpcMethodInfo, RpcMethodHandler> Of(string json, string where) => method =>
        RpcMethodHandler.OfReplies(Read(method, json, where));

    /// <summary>The replies.</summary>
    public static IReadOnlyList<object> Read(RpcMethodInfo method, string json, string where)
    {
        IReadOnlyList<string> texts = JsonValues.Replies(json, method.IsServerStreaming, where);

        // As an object like any other, which takes more than ProtoJSON does: names in any case.
        MessageMapper mapper = new() { TakesRows = false };
        try
        {
            return [.. texts.Select(text => mapper.ToMessage(method.ReplyType, JsonText.Read(text, where)))];
        }
        catch (RpcException e)
        {
            throw new RpcException(
                e.Code, $"{where} is no {method.ReplyType.FullName}, the reply of {method.FullName}: "
                + e.Message, e)
            {
                ErrorId = e.ErrorId,
            };
        }
    }
}

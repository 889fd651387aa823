namespace ProtoRpc.Tool.Verbs;

/// <summary>Replies with the request's fields, where the reply has a field of that name and type.</summary>
internal sealed class EchoReply : ICannedReply
{
    public DynamicMessage To(RpcMethodInfo method, DynamicMessage request)
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

namespace ProtoRpc.Tool.Verbs;

/// <summary>Makes the replies of <c>protorpc listen</c>.</summary>
internal interface ICannedReply
{
    DynamicMessage To(RpcMethodInfo method, DynamicMessage request);
}

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

/// <summary>The same reply for every call of a method, made once.</summary>
internal sealed class FixedReply : ICannedReply
{
    private readonly Dictionary<string, DynamicMessage> _replies = [];
    private readonly Dictionary<string, RpcException> _misfits = [];

    /// <exception cref="RpcException">The value fits the reply of none of the service's methods.</exception>
    public FixedReply(RpcServiceInfo service, object? value)
    {
        MessageMapper mapper = new();
        foreach (RpcMethodInfo method in service.Methods)
        {
            try
            {
                _replies[method.FullName] = mapper.ToMessage(method.ReplyType, value);
            }
            catch (RpcException e)
            {
                _misfits[method.FullName] = e;
            }
        }

        // Methods may have different replies; that one of them does not fit shows when it is called.
        if (_replies.Count == 0 && _misfits.Count > 0)
        {
            throw _misfits.Values.First();
        }
    }

    public DynamicMessage To(RpcMethodInfo method, DynamicMessage request) =>
        _replies.TryGetValue(method.FullName, out DynamicMessage? reply)
            ? reply
            : throw new RpcException(
                RpcStatusCode.FailedPrecondition,
                $"The reply that this listener was given does not fit {method.FullName}: "
                + _misfits[method.FullName].Message);
}

using ProtoRpc.Messages;

namespace ProtoRpc.Mocks;

/// <summary>The reply of a mock for a method without a given reply.</summary>
internal static class TemplateReply
{
    /// <summary>A valid reply: the template of its type, or, where the template cuts a required field, the
    /// required fields alone.</summary>
    /// <exception cref="RpcException">Unimplemented: no message of the type can have all its required
    /// fields.</exception>
    public static DynamicMessage Of(RpcMethodInfo method)
    {
        MessageMapper mapper = new() { TakesRows = false };
        try
        {
            return mapper.ToMessage(method.ReplyType, mapper.Template(method.ReplyType));
        }
        catch (RpcException)
        {
            DynamicMessage message = new(method.ReplyType);
            if (TryFill(message, []))
            {
                return message;
            }

            throw new RpcException(
                RpcStatusCode.Unimplemented,
                $"{method.FullName} has no template reply: a required field of {method.ReplyType.FullName} "
                + "requires its own type again. Give the mock a reply for the method.",
                isByProtoRpc: false);
        }
    }

    private static bool TryFill(DynamicMessage message, HashSet<MessageLayout> path)
    {
        if (!path.Add(message.Layout))
        {
            return false;
        }

        foreach (FieldLayout field in message.Layout.Required)
        {
            if (!field.IsMessage)
            {
                message.Set(field.Info, DefaultOf(field));
                continue;
            }

            DynamicMessage child = new(field.Message);
            if (!TryFill(child, path))
            {
                return false;
            }

            message.Set(field.Info, child);
        }

        path.Remove(message.Layout);
        return true;
    }

    private static object DefaultOf(FieldLayout field) => field.Kind switch
    {
        RpcFieldKind.String => field.Info.DefaultValue as string ?? "",
        RpcFieldKind.Bytes => FieldValues.BytesDefault(field),
        RpcFieldKind.Enum => field.Info.DefaultValue as int? ?? field.Enum!.Values[0].Value,
        _ => field.Info.DefaultValue ?? ScalarValue.Box(field.Kind, 0),
    };
}

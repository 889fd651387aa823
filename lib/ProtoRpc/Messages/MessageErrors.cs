namespace ProtoRpc.Messages;

/// <summary>Makes exceptions of messages that are too large.</summary>
internal static class MessageErrors
{
    /// <summary>What is wrong with the name of a field that a message does not have.</summary>
    public static string NoField(RpcMessageInfo type, string name)
    {
        string[] names = [.. type.Fields.Concat(type.Extensions).Select(field => field.Name)];
        string hint = NearestName.Hint(name, names);
        if (hint.Length == 0)
        {
            hint = ValueText.OfNames(names, " Its fields are", " It has none") + ".";
        }

        return $"the message {type.FullName} has no field '{ValueText.OfName(name)}'.{hint}";
    }

    /// <summary>The error for a name that is not a field.</summary>
    public static RpcException UnknownField(RpcMessageInfo type, string name)
    {
        string what = NoField(type, name);
        return new(RpcStatusCode.InvalidArgument, char.ToUpperInvariant(what[0]) + what[1..])
        {
            ErrorId = RpcErrorIds.UnknownField,
        };
    }

    /// <summary>The error of a message over the limit.</summary>
    /// <param name="what">What the message is: request or reply.</param>
    /// <param name="size">Its bytes, as far as they are known.</param>
    /// <param name="maxBytes">The limit.</param>
    public static RpcException TooLarge(string what, string size, int maxBytes) => new(
        RpcStatusCode.ResourceExhausted,
        $"The {what} has {size} bytes; the limit is {maxBytes}. "
        + "Raise RpcLimits.MaxMessageBytes on both sides.");

    /// <summary>No array can hold the message.</summary>
    public static RpcException LargerThanArrays() => new(
        RpcStatusCode.ResourceExhausted,
        $"A message is larger than {Array.MaxLength} bytes. Send its parts in several messages.");
}

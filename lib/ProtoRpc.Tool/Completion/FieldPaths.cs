namespace ProtoRpc.Tool.Completion;

/// <summary>What <c>--set</c> may name in a request.</summary>
internal static class FieldPaths
{
    /// <summary>The fields of the message that a word has come to: with <c>=</c> where a value follows, and
    /// with a dot where a field within follows.</summary>
    public static IEnumerable<string> Of(RpcMessageInfo request, string word)
    {
        string[] steps = word.Split('.');
        RpcMessageInfo? type = request;
        foreach (string step in steps[..^1])
        {
            type = type?.FindField(step)?.MessageType;
        }

        string before = string.Concat(steps[..^1].Select(step => $"{step}."));
        return type?.Fields.Select(field =>
            before + field.Name + (field.MessageType is null || field.IsMap ? "=" : ".")) ?? [];
    }
}

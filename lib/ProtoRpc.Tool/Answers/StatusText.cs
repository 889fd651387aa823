namespace ProtoRpc.Tool.Answers;

/// <summary>Reads statuses as users and programs write them.</summary>
internal static class StatusText
{
    /// <summary>A status by its number or its name, with or without underscores: <c>5</c>,
    /// <c>NOT_FOUND</c>, <c>NotFound</c>. Null for anything else.</summary>
    public static RpcStatusCode? Find(string text)
    {
        string name = text.Replace("_", "", StringComparison.Ordinal);
        return name.Length > 0 && Enum.TryParse(name, ignoreCase: true, out RpcStatusCode status)
            && Enum.IsDefined(status) && !name.Contains(',')
                ? status
                : null;
    }
}

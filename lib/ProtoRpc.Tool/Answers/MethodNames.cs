namespace ProtoRpc.Tool.Answers;

/// <summary>Finds the methods that options name.</summary>
internal static class MethodNames
{
    private const int MaxShown = 10;

    /// <summary>A method by its bare name, <c>Service/Method</c> or its full name.</summary>
    /// <exception cref="UsageException">There is none of that name, or several.</exception>
    public static RpcMethodInfo Find(IReadOnlyList<RpcMethodInfo> methods, string name, string where)
    {
        RpcMethodInfo[] found =
        [
            .. methods.Where(method => name == method.Name || name == method.FullName
                || name == method.FullName.Replace('/', '.')
                || name == $"{method.Service.Name}/{method.Name}"
                || name == $"{method.Service.Name}.{method.Name}"),
        ];
        return found switch
        {
            [{ } only] => only,
            [] => throw new UsageException(
                $"{where} is for '{name}', and no such method is served. There are {List(methods)}."),
            _ => throw new UsageException(
                $"{where} is for '{name}', which may be {List(found)}. Add the name of the service."),
        };
    }

    private static string List(IReadOnlyList<RpcMethodInfo> methods) =>
        string.Join(", ", methods.Take(MaxShown).Select(method => method.FullName))
        + (methods.Count > MaxShown ? ", ..." : "");
}

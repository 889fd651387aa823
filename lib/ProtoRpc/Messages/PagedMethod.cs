namespace ProtoRpc.Messages;

/// <summary>A method that returns a list in pages (https://google.aip.dev/158): the request has the string
/// field <c>page_token</c>, and the reply has the string field <c>next_page_token</c> and one repeated
/// field.</summary>
internal sealed class PagedMethod
{
    private const string TokenName = "page_token";
    private const string NextTokenName = "next_page_token";

    // The locations that the server could not reach (https://google.aip.dev/217); they are not elements of
    // the list.
    private const string UnreachableName = "unreachable";

    // An error shows at most this many names, because a hostile schema can have any number of fields.
    private const int MaxNames = 5;

    private PagedMethod(
        RpcMethodInfo method, RpcFieldInfo token, RpcFieldInfo nextToken, RpcFieldInfo elements)
    {
        Method = method;
        Token = token;
        NextToken = nextToken;
        Elements = elements;
        Unreachable = ListsOf(method.ReplyType).FirstOrDefault(IsUnreachable) is { } field
            && field != elements ? field : null;
    }

    /// <summary>The method.</summary>
    public RpcMethodInfo Method { get; }

    /// <summary>The field of the request that selects the page.</summary>
    public RpcFieldInfo Token { get; }

    /// <summary>The field of the reply with the token of the next page; empty on the last page.</summary>
    public RpcFieldInfo NextToken { get; }

    /// <summary>The field of the reply with the elements of the page.</summary>
    public RpcFieldInfo Elements { get; }

    /// <summary>The field of the reply that names the places that the server could not ask; null for
    /// none.</summary>
    public RpcFieldInfo? Unreachable { get; }

    /// <summary>Whether a method returns a list in pages.</summary>
    public static bool IsPaged(RpcMethodInfo method) => TryFind(method, out _) is not null;

    /// <summary>Finds the fields of a method that returns a list in pages.</summary>
    /// <exception cref="RpcException">InvalidArgument: the method has no pages; the text contains the missing
    /// field.</exception>
    public static PagedMethod Create(RpcMethodInfo method) => TryFind(method, out string problem)
        ?? throw new RpcException(
            RpcStatusCode.InvalidArgument, RpcErrorIds.NotPaged,
            $"{method.FullName} does not return a list in pages: {problem}. Call it without following "
            + "pages.")
        {
            MethodName = method.FullName,
        };

    private static PagedMethod? TryFind(RpcMethodInfo method, out string problem)
    {
        RpcFieldInfo? token = FindText(method.RequestType, TokenName);
        RpcFieldInfo? next = FindText(method.ReplyType, NextTokenName);
        RpcFieldInfo[] lists = [.. ListsOf(method.ReplyType)];
        if (lists.Length > 1)
        {
            lists = [.. lists.Where(field => !IsUnreachable(field))];
        }

        problem = !method.IsUnary ? "it streams"
            : token is null ? MissingText(method.RequestType, TokenName, "request")
            : next is null ? MissingText(method.ReplyType, NextTokenName, "reply")
            : lists.Length == 0 ? $"its reply {method.ReplyType.FullName} has no repeated field"
            : lists.Length > 1
                ? $"its reply {method.ReplyType.FullName} has {lists.Length} repeated fields ("
                    + string.Join(", ", lists.Take(MaxNames).Select(field => field.Name))
                    + (lists.Length > MaxNames ? ", ...)" : ")")
            : "";
        return problem.Length == 0 ? new(method, token!, next!, lists[0]) : null;
    }

    private static string MissingText(RpcMessageInfo type, string name, string what) =>
        $"its {what} {type.FullName} has no string field {name}";

    private static RpcFieldInfo? FindText(RpcMessageInfo type, string name) =>
        type.FindField(name) is { Kind: RpcFieldKind.String, IsRepeated: false } field ? field : null;

    private static IEnumerable<RpcFieldInfo> ListsOf(RpcMessageInfo type) =>
        type.Fields.Where(field => field is { IsRepeated: true, IsMap: false });

    private static bool IsUnreachable(RpcFieldInfo field) =>
        field is { Kind: RpcFieldKind.String, Name: UnreachableName };
}

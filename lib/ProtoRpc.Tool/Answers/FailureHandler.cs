namespace ProtoRpc.Tool.Answers;

/// <summary>Fails every call of a method.</summary>
internal static class FailureHandler
{
    /// <summary>A handler that fails as a text says: <c>NOT_FOUND: no such user</c>.</summary>
    /// <exception cref="UsageException">The text begins with no status.</exception>
    public static RpcMethodHandler Read(string option, string text)
    {
        int colon = text.IndexOf(':', StringComparison.Ordinal);
        string name = (colon < 0 ? text : text[..colon]).Trim();
        return StatusText.Find(name) is { } status && status != RpcStatusCode.OK
            ? Of(status, colon < 0 ? "" : text[(colon + 1)..].Trim())
            : throw new UsageException(
                $"{option} takes METHOD=STATUS: MESSAGE, with a status as NOT_FOUND; '{name}' is none.");
    }

    public static RpcMethodHandler Of(RpcStatusCode status, string message) => RpcMethodHandler.OfStreams(
        (context, _) => throw new RpcException(status, message) { MethodName = context.Method.FullName });
}

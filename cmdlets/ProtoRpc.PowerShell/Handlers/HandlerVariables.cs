namespace ProtoRpc.PowerShell.Handlers;

/// <summary>What a script finds in its variables.</summary>
/// <param name="Context"><c>$RpcContext</c>.</param>
internal sealed record HandlerVariables(RpcHandlerContext Context)
{
    /// <summary><c>$Request</c> as a message, or <c>$Bytes</c> of the raw layer.</summary>
    public required object Request { get; init; }

    /// <summary><c>$RpcMethod</c>; null on the raw layer.</summary>
    public object? Method { get; init; }

    /// <summary><c>$Next</c> of a filter.</summary>
    public object? Next { get; init; }
}

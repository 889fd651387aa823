namespace ProtoRpc.Calls;

/// <summary>How a server behaves.</summary>
public sealed record RpcServerOptions
{
    /// <summary>The bounds.</summary>
    public RpcLimits Limits { get; init; } = RpcLimits.Default;

    /// <summary>What callers are told of a handler's exception; null for everything on local transports and
    /// the message elsewhere.</summary>
    public RpcErrorDetail? ErrorDetail { get; init; }
}

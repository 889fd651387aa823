using ProtoRpc.Calls.Native;

namespace ProtoRpc.Calls;

/// <summary>How a server behaves.</summary>
public sealed record RpcServerOptions
{
    /// <summary>The bounds.</summary>
    public RpcLimits Limits { get; init; } = RpcLimits.Default;

    // One line here for each way to serve.
    internal IReadOnlyList<IServerFace> Faces { get; init; } = [new NativeFace()];

    /// <summary>What callers are told of a handler's exception; null for everything on local transports and
    /// the message elsewhere.</summary>
    public RpcErrorDetail? ErrorDetail { get; init; }
}

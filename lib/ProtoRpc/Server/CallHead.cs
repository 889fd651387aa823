using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Server;

/// <summary>What a call says before its request.</summary>
/// <param name="Method">What is called.</param>
/// <param name="Context">The side channel; null where the caller sent none.</param>
/// <param name="Deadline">When the caller stops waiting; null where it did not say so.</param>
/// <param name="Aborted">Cancelled when the caller cancels or vanishes, or the server stops.</param>
internal readonly record struct CallHead(
    ServerMethod Method, RpcCallContext? Context, DateTimeOffset? Deadline, CancellationToken Aborted)
{
    /// <summary>Reads what came beside the request, when somebody asks for it; null for nothing.</summary>
    public Func<RpcMetadata>? Headers { get; init; }

    /// <summary>The services of the application for this call, where it made a scope of them;
    /// else null.</summary>
    public IServiceProvider? Services { get; init; }

    /// <summary>The extensions of the native request header; null for none.</summary>
    public DynamicMessage? Extensions { get; init; }
}

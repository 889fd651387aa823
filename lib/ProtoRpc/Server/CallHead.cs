using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Server;

/// <summary>The information that a call sends before its request.</summary>
/// <param name="Method">The called method.</param>
/// <param name="Context">The side channel; null if the caller sent none.</param>
/// <param name="Deadline">When the caller stops waiting; null if the caller sent no deadline.</param>
/// <param name="Aborted">Cancelled when the caller cancels or disconnects, or when the server stops.</param>
internal readonly record struct CallHead(
    ServerMethod Method, RpcCallContext? Context, DateTimeOffset? Deadline, CancellationToken Aborted)
{
    /// <summary>Reads the request's headers on demand; null for none.</summary>
    public Func<RpcMetadata>? Headers { get; init; }

    /// <summary>The application's services in the scope of this call; null if there is no such
    /// scope.</summary>
    public IServiceProvider? Services { get; init; }

    /// <summary>The extensions of the native request header; null for none.</summary>
    public DynamicMessage? Extensions { get; init; }
}

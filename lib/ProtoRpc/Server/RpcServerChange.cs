using ProtoRpc.Server;

namespace ProtoRpc;

/// <summary>What <see cref="RpcServer.ChangeAsync"/> replaces; null leaves it as it is.</summary>
public sealed record RpcServerChange
{
    /// <summary>The handlers from now on by method: bare names where one service has them, else full ones.
    /// Methods without a handler are answered with Unimplemented.</summary>
    public IReadOnlyDictionary<string, RpcMethodHandler>? Handlers { get; set; }

    /// <summary>What stands around every call from now on, the first one outermost.</summary>
    public IReadOnlyList<IRpcInterceptor>? Interceptors { get; set; }

    /// <summary>The endpoints from now on. Those that the server has already stay as they are, with their
    /// connections; the others are closed after their calls.</summary>
    public IReadOnlyList<RpcEndpoint>? Endpoints { get; set; }

    /// <summary>For how long calls at endpoints that are closed may run on; null for the limit's drain
    /// time.</summary>
    public TimeSpan? DrainTimeout { get; set; }

    // The ways to serve, where the new endpoints need more of them.
    internal IReadOnlyList<IServerFace>? Faces { get; init; }
}

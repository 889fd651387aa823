namespace ProtoRpc.Server;

/// <summary>A server of messages or of raw calls, for hosts.</summary>
internal interface IRpcServer : IAsyncDisposable, IDisposable
{
    /// <summary>The endpoints. While the server listens, the bound endpoints.</summary>
    IReadOnlyList<RpcEndpoint> Endpoints { get; }

    /// <summary>Whether the server listens.</summary>
    bool IsListening { get; }

    /// <summary>The counters, until the server stopped.</summary>
    RpcServerCounters Counters { get; }

    /// <summary>Completes when the server has stopped.</summary>
    Task Completion { get; }

    /// <summary>Rejects new calls, lets running calls end within the drain time, cancels the rest, and closes
    /// the endpoints.</summary>
    Task StopAsync(TimeSpan? drain = null);
}

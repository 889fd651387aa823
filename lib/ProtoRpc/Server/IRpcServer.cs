namespace ProtoRpc.Server;

/// <summary>A server of either layer, as a host sees it.</summary>
internal interface IRpcServer : IAsyncDisposable, IDisposable
{
    /// <summary>The endpoints, as bound once the server listens.</summary>
    IReadOnlyList<RpcEndpoint> Endpoints { get; }

    /// <summary>Whether it listens.</summary>
    bool IsListening { get; }

    /// <summary>What it has done, until it stopped.</summary>
    RpcServerCounters Counters { get; }

    /// <summary>Ends when the server has stopped.</summary>
    Task Completion { get; }

    /// <summary>Refuses new calls, lets running ones end within the drain time, cancels the rest,
    /// closes.</summary>
    Task StopAsync(TimeSpan? drain = null);
}

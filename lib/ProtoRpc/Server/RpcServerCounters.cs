namespace ProtoRpc;

/// <summary>The counters of a server since it started, at one moment.</summary>
/// <param name="Connections">The number of open connections.</param>
/// <param name="Accepted">The number of accepted connections.</param>
/// <param name="Calls">The number of completed calls, including failed ones.</param>
/// <param name="Errors">The number of failed calls.</param>
/// <param name="InFlight">The number of running and waiting calls.</param>
public readonly record struct RpcServerCounters(
    int Connections, long Accepted, long Calls, long Errors, int InFlight)
{
    /// <summary>The part of <see cref="InFlight"/> that waits for other calls to end.</summary>
    public int Queued { get; init; }

    /// <summary>The part of <see cref="Errors"/> that was rejected because the server was too busy.</summary>
    public long Refused { get; init; }

    /// <summary>How often the server could not accept a connection, because its process had too few free file
    /// handles.</summary>
    public long HandleShortages { get; init; }
}

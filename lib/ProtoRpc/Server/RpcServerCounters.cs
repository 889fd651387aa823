namespace ProtoRpc;

/// <summary>What a server has done since it started, at one moment.</summary>
/// <param name="Connections">Connections now open.</param>
/// <param name="Accepted">Connections accepted.</param>
/// <param name="Calls">Calls that ended, failed ones included.</param>
/// <param name="Errors">Calls that failed.</param>
/// <param name="InFlight">Calls now running.</param>
public readonly record struct RpcServerCounters(
    int Connections, long Accepted, long Calls, long Errors, int InFlight)
{
    /// <summary>Calls of <see cref="InFlight"/> that wait for others to end.</summary>
    public int Queued { get; init; }

    /// <summary>Calls of <see cref="Errors"/> that were refused because the server was too busy.</summary>
    public long Refused { get; init; }
}

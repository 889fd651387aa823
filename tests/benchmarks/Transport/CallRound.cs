namespace ProtoRpc.Benchmarks.Transport;

/// <summary>What the callers of one stack did in one round.</summary>
internal sealed record CallRound
{
    /// <summary>Calls that ended.</summary>
    public required long Calls { get; init; }

    /// <summary>Calls in a second, all callers together.</summary>
    public required double CallsPerSecond { get; init; }

    /// <summary>Calls in a second of each caller.</summary>
    public required IReadOnlyList<double> CallerRates { get; init; }

    /// <summary>The time of a call in microseconds that half of the calls kept: the median of the client
    /// processes.</summary>
    public required double MedianMicroseconds { get; init; }

    /// <summary>The time of a call in microseconds that 99 of 100 calls kept: the worst of the client
    /// processes.</summary>
    public required double Percentile99Microseconds { get; init; }

    /// <summary>What the client processes used.</summary>
    public required ResourceUse Clients { get; init; }

    /// <summary>What the server process used.</summary>
    public ResourceUse Server { get; init; }
}

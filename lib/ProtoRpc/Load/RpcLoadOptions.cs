namespace ProtoRpc;

/// <summary>How a load test calls its targets, and when it ends.</summary>
public sealed record RpcLoadOptions
{
    /// <summary>The most callers of a target.</summary>
    public const int MaxConcurrency = 4096;

    /// <summary>The most calls a second for a target.</summary>
    public const double MaxRate = 1_000_000;

    /// <summary>The most calls of a target.</summary>
    public const long MaxCount = 10_000_000_000;

    /// <summary>The longest <see cref="Duration"/> and <see cref="WarmUp"/>: 24 hours.</summary>
    public static TimeSpan MaxDuration { get; } = TimeSpan.FromHours(24);

    /// <summary>For how long each target is called, without the warm-up. Calls that run at the end are
    /// waited for. Null where <see cref="Count"/> ends the test; with both, the first ends it. One of them is
    /// required.</summary>
    public TimeSpan? Duration { get; set; }

    /// <summary>How many calls each target gets, without the warm-up.</summary>
    public long? Count { get; set; }

    /// <summary>Callers that call a target at the same time, 1 to 4,096: 10. A caller makes its next call
    /// when the one before has ended.</summary>
    public int Concurrency { get; set; } = 10;

    /// <summary>For how long each target is called before its measurement begins; zero for not at
    /// all.</summary>
    public TimeSpan WarmUp { get; set; }

    /// <summary>Calls a second that each target gets, whether or not it keeps up: the latency of a call
    /// counts from the time at which it was due, also where all callers were busy then. Null: each caller
    /// calls as fast as it can.</summary>
    public double? Rate { get; set; }

    /// <summary>Calls of a target that may fail; with the next one its test ends. Null: its test ends when
    /// its first 100 calls have all failed.</summary>
    public long? MaxErrors { get; set; }

    /// <summary>Deadline, headers and the like of each call. Without a timeout, calls have 30 seconds, those
    /// that stream included.</summary>
    public RpcCallOptions? CallOptions { get; set; }

    /// <summary>Whether results have the distribution of the latencies.</summary>
    public bool Histogram { get; set; }

    /// <exception cref="RpcException">InvalidArgument: a value is out of range.</exception>
    internal void Check()
    {
        if (Duration is null && Count is null)
        {
            throw Invalid(
                $"A load test needs an end. Set {nameof(Duration)} or {nameof(Count)}, or both.");
        }

        Require(Duration is null || (Duration > TimeSpan.Zero && Duration <= MaxDuration),
            nameof(Duration), Duration, "a time over 0 and up to 24 hours");
        Require(WarmUp >= TimeSpan.Zero && WarmUp <= MaxDuration,
            nameof(WarmUp), WarmUp, "a time from 0 to 24 hours");
        Require(Count is null or (>= 1 and <= MaxCount), nameof(Count), Count, $"1 to {MaxCount:N0} calls");
        Require(Concurrency is >= 1 and <= MaxConcurrency,
            nameof(Concurrency), Concurrency, $"1 to {MaxConcurrency:N0} callers");
        Require(Rate is null or (> 0 and <= MaxRate),
            nameof(Rate), Rate, $"over 0 and up to {MaxRate:N0} calls a second");
        Require(MaxErrors is null or >= 0, nameof(MaxErrors), MaxErrors, "0 or more calls");
    }

    private static void Require(bool holds, string name, object? value, string range)
    {
        if (!holds)
        {
            throw Invalid(FormattableString.Invariant(
                $"{nameof(RpcLoadOptions)}.{name} is {value}. It takes {range}."));
        }
    }

    private static RpcException Invalid(string message) => new(RpcStatusCode.InvalidArgument, message)
    {
        ErrorId = RpcErrorIds.InvalidLoadTest,
    };
}

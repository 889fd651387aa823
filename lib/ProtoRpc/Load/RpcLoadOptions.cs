namespace ProtoRpc;

/// <summary>The options of a load test.</summary>
public sealed record RpcLoadOptions
{
    /// <summary>The maximum number of callers per target.</summary>
    public const int MaxConcurrency = 4096;

    /// <summary>The maximum number of calls per second for a target.</summary>
    public const double MaxRate = 1_000_000;

    /// <summary>The maximum number of calls per target.</summary>
    public const long MaxCount = 10_000_000_000;

    /// <summary>The maximum of <see cref="Duration"/> and <see cref="WarmUp"/>: 24 hours.</summary>
    public static TimeSpan MaxDuration { get; } = TimeSpan.FromHours(24);

    /// <summary>How long each target is called, without the warm-up. The test waits for calls that run at the
    /// end. If <see cref="Count"/> is also set, the first limit ends the test; one of them is
    /// required.</summary>
    public TimeSpan? Duration { get; set; }

    /// <summary>The number of calls per target, without the warm-up; null for no limit.</summary>
    public long? Count { get; set; }

    /// <summary>The number of parallel callers per target, 1 to 4,096: 10. A caller makes its next call when
    /// the previous one has ended.</summary>
    public int Concurrency { get; set; } = 10;

    /// <summary>How long each target is called before its measurement begins; zero for no warm-up.</summary>
    public TimeSpan WarmUp { get; set; }

    /// <summary>The number of calls per second for each target, even if the target is slower. The latency of
    /// a call counts from the time when it was due, even if all callers were busy then. If null, each caller
    /// calls as fast as it can.</summary>
    public double? Rate { get; set; }

    /// <summary>The number of failed calls that a target may have; the next failure ends its test. If null,
    /// the test ends if the first 100 calls all fail.</summary>
    public long? MaxErrors { get; set; }

    /// <summary>The deadline, headers and other options of each call. Without a timeout, calls have 30
    /// seconds, including streaming calls.</summary>
    public RpcCallOptions? CallOptions { get; set; }

    /// <summary>Whether results contain the distribution of the latencies.</summary>
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

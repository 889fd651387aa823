namespace ProtoRpc.Benchmarks.Transport;

/// <summary>What one stack reached over one transport with one size of messages.</summary>
internal sealed record TransportResult
{
    /// <summary>One of <see cref="BenchmarkOptions.KnownTransports"/>.</summary>
    public required string Transport { get; init; }

    /// <summary>Records in each request and each reply.</summary>
    public required int Records { get; init; }

    /// <summary>One of <see cref="CallKind"/>.</summary>
    public required string Kind { get; init; }

    /// <summary>The measured rounds, in order; the rounds of other stacks lay between them.</summary>
    public required IReadOnlyList<CallRound> Rounds { get; init; }

    /// <summary>Calls in a second, the median of the rounds.</summary>
    public double CallsPerSecond => ResultTable.Median(Rounds.Select(round => round.CallsPerSecond));

    /// <summary>Calls in a second of the slowest caller in its worst round.</summary>
    public double WorstCaller => Rounds.Min(round => round.CallerRates.Min());

    /// <summary>Calls in a second of a caller, the average of all callers and rounds.</summary>
    public double AverageCaller => Rounds.Average(round => round.CallerRates.Average());

    /// <summary>Calls in a second of the fastest caller in its best round.</summary>
    public double BestCaller => Rounds.Max(round => round.CallerRates.Max());

    /// <summary>The median time of a call in microseconds.</summary>
    public double MedianMicroseconds => ResultTable.Median(Rounds.Select(round => round.MedianMicroseconds));

    /// <summary>The time in microseconds that 99 of 100 calls kept.</summary>
    public double Percentile99Microseconds =>
        ResultTable.Median(Rounds.Select(round => round.Percentile99Microseconds));

    /// <summary>Microseconds of processors that a call takes in the client.</summary>
    public double ClientCpu => ResultTable.Median(
        Rounds.Select(round => round.Clients.CpuMilliseconds * 1000 / Math.Max(1, round.Calls)));

    /// <summary>Microseconds of processors that a call takes in the server.</summary>
    public double ServerCpu => ResultTable.Median(
        Rounds.Select(round => round.Server.CpuMilliseconds * 1000 / Math.Max(1, round.Calls)));

    /// <summary>Bytes that a call allocates in the client.</summary>
    public double ClientAllocated => ResultTable.Median(
        Rounds.Select(round => (double)round.Clients.AllocatedBytes / Math.Max(1, round.Calls)));

    /// <summary>Bytes that a call allocates in the server.</summary>
    public double ServerAllocated => ResultTable.Median(
        Rounds.Select(round => (double)round.Server.AllocatedBytes / Math.Max(1, round.Calls)));

    /// <summary>Bytes that a call allocates in client and server; null where the programs do not count
    /// them.</summary>
    public double? Allocated => ClientAllocated > 0 ? ClientAllocated + ServerAllocated : null;

    /// <summary>The median over the rounds of how much less of processors, client and server together, a call
    /// of another stack takes: 1 for as much, below 1 for less. Other programs on the machine disturb it less
    /// than <see cref="RatioTo"/>.</summary>
    public double CpuRatioTo(TransportResult other) => ResultTable.Median(
        Rounds.Zip(other.Rounds, (own, others) => CpuOf(others) / CpuOf(own)));

    /// <summary>The median over the rounds of the ratio of calls in a second to those of another
    /// stack.</summary>
    public double RatioTo(TransportResult other) => ResultTable.Median(
        Rounds.Zip(other.Rounds, (own, others) => own.CallsPerSecond / others.CallsPerSecond));

    private static double CpuOf(CallRound round) =>
        (round.Clients.CpuMilliseconds + round.Server.CpuMilliseconds) / round.Calls;
}

using ProtoRpc.Load;

namespace ProtoRpc;

/// <summary>What a load test found out about one target. Latencies are milliseconds.</summary>
/// <remarks>Latencies are those of the calls that succeeded, and of those that ran into their deadline, which
/// took at least as long. Other failures have none: a server that fails fast is not a fast server.</remarks>
public sealed class RpcLoadResult
{
    internal RpcLoadResult()
    {
    }

    /// <summary>The name of the target.</summary>
    public string Name { get; internal init; } = "";

    /// <summary>The endpoint.</summary>
    public string Endpoint { get; internal init; } = "";

    /// <summary>The full name of the method.</summary>
    public string Method { get; internal init; } = "";

    /// <summary>Callers that called at the same time.</summary>
    public int Concurrency { get; internal init; }

    /// <summary>Clients over which the callers were spread.</summary>
    public int Connections { get; internal init; }

    /// <summary>Calls a second that were asked for; null where callers called as fast as they
    /// could.</summary>
    public double? Rate { get; internal init; }

    /// <summary>For how long the target was measured, with the calls that still ran at the end.</summary>
    public TimeSpan Elapsed { get; internal init; }

    /// <summary>Calls that ended.</summary>
    public long Calls { get; internal init; }

    /// <summary>Calls that succeeded.</summary>
    public long Succeeded => Calls - Failed;

    /// <summary>Calls that failed.</summary>
    public long Failed { get; internal init; }

    /// <summary>With <see cref="Rate"/>: calls that were due when all callers were busy, so that they were
    /// sent later. Their latency counts from when they were due.</summary>
    public long Late { get; internal init; }

    /// <summary>With <see cref="Rate"/>: calls that were due and never sent, because all callers were busy
    /// until the end.</summary>
    public long NotSent { get; internal init; }

    /// <summary>Calls that waited for their request to be made: what makes requests is too slow for the
    /// test.</summary>
    public long Starved { get; internal init; }

    /// <summary>Calls that succeeded, for each second.</summary>
    public double CallsPerSecond => PerSecond(Succeeded);

    /// <summary>Messages that were sent, for each second; more than one a call where requests
    /// stream.</summary>
    public double MessagesSentPerSecond => PerSecond(MessagesSent);

    /// <summary>Messages that came, for each second.</summary>
    public double MessagesReceivedPerSecond => PerSecond(MessagesReceived);

    /// <summary>Bytes of messages that were sent, for each second, without what the transport puts around
    /// them.</summary>
    public double BytesSentPerSecond => PerSecond(BytesSent);

    /// <summary>Bytes of messages that came, for each second.</summary>
    public double BytesReceivedPerSecond => PerSecond(BytesReceived);

    /// <summary>Messages that were sent.</summary>
    public long MessagesSent { get; internal init; }

    /// <summary>Messages that came.</summary>
    public long MessagesReceived { get; internal init; }

    /// <summary>Bytes of the messages that were sent.</summary>
    public long BytesSent { get; internal init; }

    /// <summary>Bytes of the messages that came.</summary>
    public long BytesReceived { get; internal init; }

    /// <summary>The shortest latency.</summary>
    public double Min => Milliseconds(Latency.Min);

    /// <summary>The mean latency.</summary>
    public double Mean => Milliseconds(Latency.Mean);

    /// <summary>The latency that half of the calls did not exceed.</summary>
    public double P50 => Milliseconds(Latency.Percentile(50));

    /// <summary>The latency that 90 % of the calls did not exceed.</summary>
    public double P90 => Milliseconds(Latency.Percentile(90));

    /// <summary>The latency that 99 % of the calls did not exceed.</summary>
    public double P99 => Milliseconds(Latency.Percentile(99));

    /// <summary>The latency that 99.9 % of the calls did not exceed.</summary>
    public double P999 => Milliseconds(Latency.Percentile(99.9));

    /// <summary>The longest latency.</summary>
    public double Max => Milliseconds(Latency.Max);

    /// <summary>All latencies, for other percentiles and the distribution.</summary>
    public RpcLatencyHistogram Latency { get; internal init; } = new();

    /// <summary>The failures, by status, the most frequent first.</summary>
    public IReadOnlyList<RpcLoadError> Errors { get; internal init; } = [];

    /// <summary>Why the test of this target ended before its time; null where it did not.</summary>
    public string? Stopped { get; internal init; }

    /// <summary>Why the target was not measured at all: its first call failed in a way in which all calls
    /// would. Null where it was measured.</summary>
    public RpcException? Error { get; internal init; }

    /// <summary>The distribution of the latencies, where it was asked for:
    /// <see cref="RpcLoadOptions.Histogram"/>. Else empty.</summary>
    public IReadOnlyList<RpcLatencyBucket> Histogram { get; internal init; } = [];

    /// <summary>The result as people read it, in several lines.</summary>
    public string ToText() => LoadReport.Of(this);

    /// <inheritdoc/>
    public override string ToString() => FormattableString.Invariant(
        $"{Name} {Method}: {CallsPerSecond:N0} calls/s, p50 {P50} ms, p99 {P99} ms, {Failed} failed");

    // To a tenth of a microsecond, which is a tick of TimeSpan.
    private static double Milliseconds(TimeSpan time) => time.Ticks / (double)TimeSpan.TicksPerMillisecond;

    private double PerSecond(long count) => Elapsed > TimeSpan.Zero ? count / Elapsed.TotalSeconds : 0;
}

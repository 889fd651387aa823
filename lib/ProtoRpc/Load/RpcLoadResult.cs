using ProtoRpc.Load;

namespace ProtoRpc;

/// <summary>The result of a load test for one target. Latencies are in milliseconds.</summary>
/// <remarks>Latencies include calls that succeeded, and calls that exceeded their deadline, whose real
/// latency is at least as long. Other failures are not included, because a server that fails fast is not a
/// fast server.</remarks>
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

    /// <summary>The number of parallel callers.</summary>
    public int Concurrency { get; internal init; }

    /// <summary>The number of clients that the callers use.</summary>
    public int Connections { get; internal init; }

    /// <summary>The requested calls per second; null if callers called as fast as they could.</summary>
    public double? Rate { get; internal init; }

    /// <summary>How long the target was measured, including calls that still ran at the end.</summary>
    public TimeSpan Elapsed { get; internal init; }

    /// <summary>The number of completed calls.</summary>
    public long Calls { get; internal init; }

    /// <summary>The number of calls that succeeded.</summary>
    public long Succeeded => Calls - Failed;

    /// <summary>The number of calls that failed.</summary>
    public long Failed { get; internal init; }

    /// <summary>With <see cref="Rate"/>: the number of calls that were sent late, because all callers were
    /// busy when the calls were due. Their latency counts from then.</summary>
    public long Late { get; internal init; }

    /// <summary>With <see cref="Rate"/>: the number of calls that were due but never sent, because all
    /// callers were busy until the end.</summary>
    public long NotSent { get; internal init; }

    /// <summary>The number of calls that waited for their request. If it is high, making requests is too slow
    /// for the test.</summary>
    public long Starved { get; internal init; }

    /// <summary>The successful calls per second.</summary>
    public double CallsPerSecond => PerSecond(Succeeded);

    /// <summary>The sent messages per second; a client-streaming call sends several.</summary>
    public double MessagesSentPerSecond => PerSecond(MessagesSent);

    /// <summary>The received messages per second.</summary>
    public double MessagesReceivedPerSecond => PerSecond(MessagesReceived);

    /// <summary>The sent bytes of messages per second, without the transport's overhead.</summary>
    public double BytesSentPerSecond => PerSecond(BytesSent);

    /// <summary>The received bytes of messages per second, without the transport's overhead.</summary>
    public double BytesReceivedPerSecond => PerSecond(BytesReceived);

    /// <summary>The number of sent messages.</summary>
    public long MessagesSent { get; internal init; }

    /// <summary>The number of received messages.</summary>
    public long MessagesReceived { get; internal init; }

    /// <summary>The bytes of the sent messages.</summary>
    public long BytesSent { get; internal init; }

    /// <summary>The bytes of the received messages.</summary>
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

    /// <summary>Why the test of this target ended early; null if it did not.</summary>
    public string? Stopped { get; internal init; }

    /// <summary>Why the target was not measured: its first call failed with an error that all calls would
    /// have. Null if it was measured.</summary>
    public RpcException? Error { get; internal init; }

    /// <summary>The distribution of the latencies; empty unless <see cref="RpcLoadOptions.Histogram"/> is
    /// set.</summary>
    public IReadOnlyList<RpcLatencyBucket> Histogram { get; internal init; } = [];

    /// <summary>A report in several lines.</summary>
    public string ToText() => LoadReport.Of(this);

    /// <inheritdoc/>
    public override string ToString() => FormattableString.Invariant(
        $"{Name} {Method}: {CallsPerSecond:N0} calls/s, p50 {P50} ms, p99 {P99} ms, {Failed} failed");

    // Rounded to a tenth of a microsecond, which is a tick of TimeSpan.
    private static double Milliseconds(TimeSpan time) => time.Ticks / (double)TimeSpan.TicksPerMillisecond;

    private double PerSecond(long count) => Elapsed > TimeSpan.Zero ? count / Elapsed.TotalSeconds : 0;
}

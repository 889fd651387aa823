using System.Collections.Concurrent;

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

    /// <summary>The number of calls that waited for their request. If it is high, creating requests is too
    /// slow for the test.</summary>
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
    public IReadOnlyList<RpcLoadError> Errors
    {
        get;
        internal init => field = new ReadableList<RpcLoadError>([.. value]);
    }
    = new ReadableList<RpcLoadError>([]);

    /// <summary>Why the test of this target ended early; null if it did not.</summary>
    public string? Stopped { get; internal init; }

    /// <summary>Why the target was not measured: its first call failed with an error that all calls would
    /// have. Null if it was measured.</summary>
    public RpcException? Error { get; internal init; }

    /// <summary>The distribution of the latencies; empty unless <see cref="RpcLoadOptions.Histogram"/> is
    /// set.</summary>
    public IReadOnlyList<RpcLatencyBucket> Histogram
    {
        get;
        internal init => field = new ReadableList<RpcLatencyBucket>([.. value]);
    }
    = new ReadableList<RpcLatencyBucket>([]);

    /// <summary>A report in several lines.</summary>
    public string ToText() => LoadReport.Format(this);

    /// <inheritdoc/>
    public override string ToString() => FormattableString.Invariant(
        $"{Name} {Method}: {CallsPerSecond:N0} calls/s, p50 {P50} ms, p99 {P99} ms, {Failed} failed");

    // Rounded to a tenth of a microsecond, which is a tick of TimeSpan.
    private static double Milliseconds(TimeSpan time) => time.Ticks / (double)TimeSpan.TicksPerMillisecond;

    private double PerSecond(long count) => Elapsed > TimeSpan.Zero ? count / Elapsed.TotalSeconds : 0;
}

/// <summary>The result of a load test as people read it.</summary>
internal static class LoadReport
{
    private const int BarWidth = 30;

    private static readonly string[] ByteUnits = ["B", "KiB", "MiB", "GiB", "TiB"];

    public static string Format(RpcLoadResult result)
    {
        StringBuilder text = new();
        text.Append(TerminalText.Neutralize(result.Name)).Append(' ').Append(result.Method).Append('\n');
        if (result.Error is { } error)
        {
            return text.Append(CultureInfo.InvariantCulture, $"  not measured: {error.Message}").ToString();
        }

        Line(text, "Load", LoadOf(result));
        Line(text, "Calls", $"{result.Calls:N0}, {result.Failed:N0} failed, {Rate(result.CallsPerSecond)}/s");
        Line(text, "Sent", MessagesOf(
            result, result.MessagesSent, result.MessagesSentPerSecond, result.BytesSentPerSecond));
        Line(text, "Received", MessagesOf(
            result, result.MessagesReceived, result.MessagesReceivedPerSecond,
            result.BytesReceivedPerSecond));
        if (result.Latency.Count > 0)
        {
            Line(
                text, "Latency", $"min {Time(result.Min)}, mean {Time(result.Mean)}, max {Time(result.Max)}");
            string rare = $"p99 {Time(result.P99)}, p99.9 {Time(result.P999)}";
            Line(text, "", $"p50 {Time(result.P50)}, p90 {Time(result.P90)}, {rare}");
        }

        foreach (RpcLoadError failure in result.Errors)
        {
            Line(text, "Failed", $"{failure.Count:N0} {failure.Status}, first: {failure.First.Message}");
        }

        foreach (string note in NotesOf(result))
        {
            Line(text, "Note", $"{note}");
        }

        return text.Append(Distribution(result.Histogram)).ToString().TrimEnd('\n');
    }

    private static FormattableString LoadOf(RpcLoadResult result)
    {
        string rate = result.Rate is { } perSecond
            ? string.Create(CultureInfo.InvariantCulture, $"{perSecond:#,0.###} calls/s, ")
            : "";
        string connections = result.Connections == 1 ? "1 connection" : $"{result.Connections} connections";
        string callers = result.Concurrency == 1 ? "1 caller" : $"{result.Concurrency} callers";
        return $"{rate}{callers}, {connections}, {result.Elapsed.TotalSeconds:N1} s";
    }

    private static FormattableString MessagesOf(
        RpcLoadResult result, long messages, double messagesPerSecond, double bytesPerSecond)
    {
        // With one message for each call, the numbers would be those of the calls.
        string count = messages == result.Calls
            ? ""
            : string.Create(
                CultureInfo.InvariantCulture, $"{messages:N0} messages, {Rate(messagesPerSecond)}/s, ");
        return $"{count}{Bytes(bytesPerSecond)}/s";
    }

    private static IEnumerable<string> NotesOf(RpcLoadResult result)
    {
        if (result.Stopped is not null)
        {
            yield return result.Stopped;
        }

        if (result.Late > 0)
        {
            yield return string.Create(
                CultureInfo.InvariantCulture,
                $"{Calls(result.Late)} sent late, because all callers were busy.");
        }

        if (result.NotSent > 0)
        {
            yield return string.Create(
                CultureInfo.InvariantCulture,
                $"{Calls(result.NotSent)} never sent, because all callers were busy.");
        }

        if (result.Starved > result.Calls / 100)
        {
            yield return string.Create(
                CultureInfo.InvariantCulture,
                $"{result.Starved:N0} calls waited for their message to be made.");
        }
    }

    private static string Calls(long count) => count == 1
        ? "1 call was"
        : string.Create(CultureInfo.InvariantCulture, $"{count:N0} calls were");

    private static string Distribution(IReadOnlyList<RpcLatencyBucket> buckets)
    {
        StringBuilder text = new();
        long most = Math.Max(1, buckets.Select(bucket => bucket.Count).DefaultIfEmpty().Max());
        foreach (RpcLatencyBucket bucket in buckets)
        {
            int bar = (int)Math.Ceiling(BarWidth * (double)bucket.Count / most);
            string step = $"{Time(bucket.From.TotalMilliseconds)} - {Time(bucket.To.TotalMilliseconds)}";
            text.Append(
                CultureInfo.InvariantCulture,
                $"  {step,-20} {new string('#', bar),-30} {bucket.Count,11:N0} {bucket.Share,8:P1}\n");
        }

        return text.ToString();
    }

    private static void Line(StringBuilder text, string label, FormattableString value) =>
        text.Append(CultureInfo.InvariantCulture, $"  {label,-9} ")
            .Append(FormattableString.Invariant(value))
            .Append('\n');

    private static string Rate(double perSecond) =>
        perSecond.ToString(perSecond < 100 ? "0.##" : "N0", CultureInfo.InvariantCulture);

    // Three significant digits.
    private static string Time(double milliseconds) => milliseconds switch
    {
        0 => "0",
        >= 10_000 => string.Create(CultureInfo.InvariantCulture, $"{milliseconds / 1000:0.#} s"),
        >= 1000 => string.Create(CultureInfo.InvariantCulture, $"{milliseconds / 1000:0.##} s"),
        >= 100 => string.Create(CultureInfo.InvariantCulture, $"{milliseconds:0} ms"),
        >= 10 => string.Create(CultureInfo.InvariantCulture, $"{milliseconds:0.#} ms"),
        >= 1 => string.Create(CultureInfo.InvariantCulture, $"{milliseconds:0.##} ms"),
        _ => string.Create(CultureInfo.InvariantCulture, $"{milliseconds * 1000:0.#} us"),
    };

    private static string Bytes(double count)
    {
        int unit = 0;
        for (; count >= 1024 && unit < ByteUnits.Length - 1; unit++)
        {
            count /= 1024;
        }

        return string.Create(CultureInfo.InvariantCulture, $"{count:0.#} {ByteUnits[unit]}");
    }
}

/// <summary>The results of the calls of one target. Callers count into separate shards, so that they do not
/// wait for each other. Thread-safe.</summary>
internal sealed class LoadTally
{
    private const int MaxShards = 8;

    private readonly Shard[] _shards;
    private readonly ConcurrentDictionary<RpcStatusCode, RpcException> _first = [];
    private long _notSent;

    public LoadTally(int callers)
    {
        _shards = new Shard[Math.Min(callers, MaxShards)];
        for (int i = 0; i < _shards.Length; i++)
        {
            _shards[i] = new Shard();
        }
    }

    /// <summary>Calls that ended.</summary>
    public long Calls => _shards.Sum(shard => shard.Statuses.Sum());

    /// <summary>Whether a call has succeeded.</summary>
    public bool HasSucceeded => _shards.Any(shard => Volatile.Read(ref shard.Statuses[0]) > 0);

    /// <summary>Calls that failed.</summary>
    public long Failed => _shards.Sum(shard => shard.Statuses.Skip(1).Sum());

    /// <summary>The first failure; null if there was none.</summary>
    public RpcException? FirstError => _first.Values.FirstOrDefault();

    public TimeSpan Elapsed { get; set; }

    /// <summary>The shard of a caller.</summary>
    public Shard ShardOf(int caller) => _shards[caller % _shards.Length];

    public void Fail(Shard shard, RpcException error, long ticks)
    {
        _first.TryAdd(error.Code, error);
        if (error.Code == RpcStatusCode.DeadlineExceeded)
        {
            shard.Latency.RecordTicks(ticks);
        }

        Interlocked.Increment(ref shard.Statuses[(int)error.Code]);
    }

    /// <summary>Counts calls that were due and never sent.</summary>
    public void AddNotSent(long count) => _notSent += count;

    /// <summary>The result, once no call runs.</summary>
    public RpcLoadResult ToResult(RpcLoadTarget target, RpcLoadOptions options, string? stopped, long starved)
    {
        RpcLatencyHistogram latency = new();
        long[] statuses = new long[Shard.StatusCount];
        foreach (Shard shard in _shards)
        {
            latency.Add(shard.Latency);
            for (int i = 0; i < statuses.Length; i++)
            {
                statuses[i] += shard.Statuses[i];
            }
        }

        return new RpcLoadResult
        {
            Name = target.Name,
            Endpoint = target.Clients[0].Endpoint.ToString(),
            Method = target.Method.FullName,
            Concurrency = options.Concurrency,
            Connections = target.Clients.Count,
            Rate = options.Rate,
            Elapsed = Elapsed,
            Calls = statuses.Sum(),
            Failed = statuses.Skip(1).Sum(),
            Late = _shards.Sum(shard => shard.Late),
            NotSent = _notSent,
            Starved = starved,
            MessagesSent = _shards.Sum(shard => shard.MessagesSent),
            MessagesReceived = _shards.Sum(shard => shard.MessagesReceived),
            BytesSent = _shards.Sum(shard => shard.BytesSent),
            BytesReceived = _shards.Sum(shard => shard.BytesReceived),
            Latency = latency,
            Histogram = options.Histogram ? latency.ToBuckets() : [],
            // An array, because PowerShell cannot index the lists of collection expressions.
            Errors = _first.Select(pair => new RpcLoadError(pair.Key, statuses[(int)pair.Key], pair.Value))
                .OrderByDescending(error => error.Count)
                .ThenBy(error => error.Status)
                .ToArray(),
            Stopped = stopped,
        };
    }

    /// <summary>The counts of some of the callers.</summary>
    internal sealed class Shard
    {
        public const int StatusCount = (int)RpcStatusCode.Unauthenticated + 1;

        private long _late;
        private long _messagesSent;
        private long _messagesReceived;
        private long _bytesSent;
        private long _bytesReceived;

        public RpcLatencyHistogram Latency { get; } = new();

        public long[] Statuses { get; } = new long[StatusCount];

        public long Late => Volatile.Read(ref _late);

        public long MessagesSent => Volatile.Read(ref _messagesSent);

        public long MessagesReceived => Volatile.Read(ref _messagesReceived);

        public long BytesSent => Volatile.Read(ref _bytesSent);

        public long BytesReceived => Volatile.Read(ref _bytesReceived);

        /// <summary>Counts a call that succeeded.</summary>
        public void Succeed(long ticks)
        {
            Latency.RecordTicks(ticks);
            Interlocked.Increment(ref Statuses[(int)RpcStatusCode.OK]);
        }

        /// <summary>Counts a call that was sent after it was due.</summary>
        public void AddLate() => Interlocked.Increment(ref _late);

        /// <summary>Counts sent and received messages.</summary>
        public void AddMessages(long sent, long sentBytes, long received, long receivedBytes)
        {
            Interlocked.Add(ref _messagesSent, sent);
            Interlocked.Add(ref _bytesSent, sentBytes);
            Interlocked.Add(ref _messagesReceived, received);
            Interlocked.Add(ref _bytesReceived, receivedBytes);
        }
    }
}

/// <summary>The calls of a load test that failed with the same status.</summary>
/// <param name="Status">The status.</param>
/// <param name="Count">The number of calls.</param>
/// <param name="First">The first of these failures.</param>
public sealed record RpcLoadError(RpcStatusCode Status, long Count, RpcException First)
{
    /// <inheritdoc/>
    public override string ToString() => $"{Count} {Status}: {First.Message}";
}

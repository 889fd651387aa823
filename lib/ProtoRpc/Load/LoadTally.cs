using System.Collections.Concurrent;

namespace ProtoRpc.Load;

/// <summary>What the calls of one target have brought so far. Callers count into shards, so that they do not
/// wait for each other. Safe for use by many threads.</summary>
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

    /// <summary>A failure; null where there was none.</summary>
    public RpcException? FirstError => _first.Values.FirstOrDefault();

    /// <summary>The time that was measured.</summary>
    public TimeSpan Elapsed { get; set; }

    /// <summary>The shard of a caller.</summary>
    public Shard ShardOf(int caller) => _shards[caller % _shards.Length];

    /// <summary>Counts a failure.</summary>
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
            // An array: shells cannot index the lists of collection expressions.
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

        /// <summary>Counts messages that were sent, and messages that came.</summary>
        public void AddMessages(long sent, long sentBytes, long received, long receivedBytes)
        {
            Interlocked.Add(ref _messagesSent, sent);
            Interlocked.Add(ref _bytesSent, sentBytes);
            Interlocked.Add(ref _messagesReceived, received);
            Interlocked.Add(ref _bytesReceived, receivedBytes);
        }
    }
}

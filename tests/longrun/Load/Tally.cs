using System.Collections.Concurrent;

namespace ProtoRpc.LongRun.Load;

/// <summary>What was done, and what failed. Safe for many threads.</summary>
internal sealed class Tally
{
    private const int MostKept = 20;
    private readonly ConcurrentDictionary<string, long> _done = new(StringComparer.Ordinal);
    private readonly ConcurrentQueue<string> _failures = new();
    private long _all;
    private long _failed;

    public long All => Interlocked.Read(ref _all);

    public long Failed => Interlocked.Read(ref _failed);

    /// <summary>The first failures.</summary>
    public IReadOnlyList<string> Failures => [.. _failures];

    /// <summary>How often each thing was done, by name.</summary>
    public IReadOnlyList<KeyValuePair<string, long>> Done =>
        [.. _done.OrderBy(pair => pair.Key, StringComparer.Ordinal)];

    public void Add(string what)
    {
        Interlocked.Increment(ref _all);
        _done.AddOrUpdate(what, 1, static (_, count) => count + 1);
    }

    public void Fail(string what, string why)
    {
        if (Interlocked.Increment(ref _failed) <= MostKept)
        {
            _failures.Enqueue($"{what}: {why}");
        }
    }
}

using System.Diagnostics;
using System.Numerics;

namespace ProtoRpc;

/// <summary>Counts latencies in buckets whose width grows with the latency, like HdrHistogram. Its memory is
/// constant, and reported values deviate by at most 0.4 %. Thread-safe.</summary>
/// <remarks>Values are nanoseconds from 0 to 73 minutes. Longer ones are counted in the last bucket, but <see
/// cref="Max"/> is exact.</remarks>
public sealed class RpcLatencyHistogram
{
    // The number of buckets per octave, as a power of two. A reported value is the middle of its bucket, so
    // it deviates by at most 1/256.
    private const int SubBits = 7;
    private const int ValueBits = 42;
    private const long NanosecondsPerMicrosecond = 1000;
    private const long MaxValue = (1L << ValueBits) - 1;

    private readonly long[] _counts = new long[IndexOf(MaxValue) + 1];
    private long _count;
    private long _sum;
    private long _min = long.MaxValue;
    private long _max;

    /// <summary>The number of counted latencies.</summary>
    public long Count => Volatile.Read(ref _count);

    /// <summary>The shortest latency, exact; zero if there is none.</summary>
    public TimeSpan Min => Count == 0 ? TimeSpan.Zero : ToTime(Volatile.Read(ref _min));

    /// <summary>The longest latency, exact; zero if there is none.</summary>
    public TimeSpan Max => ToTime(Volatile.Read(ref _max));

    /// <summary>The mean latency, exact; zero if there is none.</summary>
    public TimeSpan Mean => Count == 0 ? TimeSpan.Zero : ToTime(Volatile.Read(ref _sum) / (double)Count);

    /// <summary>The latency that a share of the calls did not exceed.</summary>
    /// <param name="percentile">The share in percent, 0 to 100: 50 for the median, 99.9 for all but one of
    /// 1,000 calls. 0 is <see cref="Min"/>, 100 is <see cref="Max"/>.</param>
    /// <returns>Zero if there is no latency.</returns>
    /// <exception cref="ArgumentOutOfRangeException">Not 0 to 100.</exception>
    public TimeSpan Percentile(double percentile)
    {
        if (percentile is not (>= 0 and <= 100))
        {
            throw new ArgumentOutOfRangeException(
                nameof(percentile), percentile, "A percentile is a number from 0 to 100.");
        }

        long count = Count;
        if (count == 0 || percentile == 0)
        {
            return Min;
        }

        // Rounded, because 99.9 / 100 * 1000 is slightly more than 999 in binary and would become 1000.
        long rank = Math.Max(1, (long)Math.Ceiling(Math.Round(percentile / 100 * count, 6)));
        if (rank >= count)
        {
            return Max;
        }

        long seen = 0;
        for (int i = 0; i < _counts.Length; i++)
        {
            seen += Volatile.Read(ref _counts[i]);
            if (seen >= rank)
            {
                return ToTime(Math.Clamp(MiddleOf(i), Volatile.Read(ref _min), Volatile.Read(ref _max)));
            }
        }

        return Max;
    }

    /// <summary>The distribution in steps of 1, 2, 5, 10, 20, 50 microseconds and so on, from the first step
    /// that contains a latency to the last one.</summary>
    public IReadOnlyList<RpcLatencyBucket> ToBuckets()
    {
        double count = Math.Max(1, Count);
        List<RpcLatencyBucket> steps = [];
        long from = 0;
        long to = NanosecondsPerMicrosecond;
        for (int i = 0; i < _counts.Length;)
        {
            long here = 0;
            for (; i < _counts.Length && MiddleOf(i) < to; i++)
            {
                here += Volatile.Read(ref _counts[i]);
            }

            if (here > 0 || steps.Count > 0)
            {
                steps.Add(new RpcLatencyBucket(ToTime(from), ToTime(to), here, here / count));
            }

            from = to;
            to = Next(to);
        }

        // An array, because PowerShell cannot index the lists of collection expressions.
        return steps.Take(steps.FindLastIndex(step => step.Count > 0) + 1).ToArray();
    }

    /// <summary>Counts a latency.</summary>
    /// <param name="ticks">Its ticks of <see cref="Stopwatch"/>; less than zero counts as zero.</param>
    internal void RecordTicks(long ticks) => Record(
        Stopwatch.Frequency == 1_000_000_000
            ? ticks
            : (long)(ticks * (1e9 / Stopwatch.Frequency)));

    /// <summary>Counts a latency of some nanoseconds; less than zero counts as zero.</summary>
    internal void Record(long nanoseconds)
    {
        long value = Math.Max(0, nanoseconds);
        Interlocked.Increment(ref _counts[IndexOf(Math.Min(value, MaxValue))]);
        Interlocked.Add(ref _sum, value);
        for (long max = Volatile.Read(ref _max); value > max;)
        {
            max = Interlocked.CompareExchange(ref _max, value, max) is var seen && seen == max ? value : seen;
        }

        for (long min = Volatile.Read(ref _min); value < min;)
        {
            min = Interlocked.CompareExchange(ref _min, value, min) is var seen && seen == min ? value : seen;
        }

        // The count is incremented last, so that parallel readers find each counted latency in the buckets.
        Interlocked.Increment(ref _count);
    }

    /// <summary>Adds the latencies of another histogram.</summary>
    internal void Add(RpcLatencyHistogram other)
    {
        if (other.Count == 0)
        {
            return;
        }

        for (int i = 0; i < _counts.Length; i++)
        {
            _counts[i] += Volatile.Read(ref other._counts[i]);
        }

        _sum += Volatile.Read(ref other._sum);
        _count += other.Count;
        _min = Math.Min(_min, Volatile.Read(ref other._min));
        _max = Math.Max(_max, Volatile.Read(ref other._max));
    }

    private static int IndexOf(long value)
    {
        // Values in the first two octaves have one bucket each. All further octaves have the same number of
        // buckets.
        int shift = Math.Max(0, BitOperations.Log2((ulong)value | 1) - SubBits);
        return (shift << SubBits) + (int)(value >> shift);
    }

    private static long MiddleOf(int index)
    {
        int shift = Math.Max(0, (index >> SubBits) - 1);
        return ((long)(index - (shift << SubBits)) << shift) + (((1L << shift) - 1) / 2);
    }

    // The steps are 1, 2, 5, 10, 20, 50...
    private static long Next(long step)
    {
        long digit = step;
        while (digit >= 10)
        {
            digit /= 10;
        }

        return digit == 2 ? step / 2 * 5 : step * 2;
    }

    private static TimeSpan ToTime(double nanoseconds) =>
        TimeSpan.FromTicks((long)Math.Round(nanoseconds / TimeSpan.NanosecondsPerTick));
}

/// <summary>One bucket of a latency distribution.</summary>
/// <param name="From">The lower bound, inclusive.</param>
/// <param name="To">The upper bound, exclusive.</param>
/// <param name="Count">The number of calls in the bucket.</param>
/// <param name="Share">The share of all calls, 0 to 1.</param>
public readonly record struct RpcLatencyBucket(TimeSpan From, TimeSpan To, long Count, double Share);

using System.Diagnostics;
using System.Numerics;

namespace ProtoRpc.Benchmarks.Transport;

/// <summary>Counts calls by the time they took, within about 3 %. Not thread-safe.</summary>
internal sealed class CallTimes
{
    // Each power of two of ticks is divided into so many parts.
    private const int PartBits = 5;
    private const int Parts = 1 << PartBits;

    private readonly long[] _counts = new long[(64 - PartBits + 1) * Parts];

    /// <summary>Counts one call.</summary>
    /// <param name="ticks">Its time in ticks of <see cref="Stopwatch"/>.</param>
    public void Add(long ticks) => _counts[IndexOf((ulong)ticks)]++;

    /// <summary>Adds the counts of another one.</summary>
    public void Add(CallTimes other)
    {
        for (int i = 0; i < _counts.Length; i++)
        {
            _counts[i] += other._counts[i];
        }
    }

    /// <summary>The time in microseconds that a share of the calls kept; 0 without calls.</summary>
    /// <param name="share">From 0 to 1.</param>
    public double Microseconds(double share)
    {
        long wanted = (long)Math.Ceiling(_counts.Sum() * share);
        long seen = 0;
        for (int i = 0; i < _counts.Length; i++)
        {
            seen += _counts[i];
            if (seen >= wanted && seen > 0)
            {
                return MiddleOf(i) * 1e6 / Stopwatch.Frequency;
            }
        }

        return 0;
    }

    private static int IndexOf(ulong ticks)
    {
        if (ticks < Parts)
        {
            return (int)ticks;
        }

        int shift = BitOperations.Log2(ticks) - PartBits;
        return ((shift + 1) * Parts) + (int)((ticks >> shift) - Parts);
    }

    private static double MiddleOf(int index)
    {
        if (index < Parts)
        {
            return index;
        }

        int shift = (index / Parts) - 1;
        return Math.ScaleB((index % Parts) + Parts + 0.5, shift);
    }
}

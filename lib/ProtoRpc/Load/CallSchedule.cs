using System.Diagnostics;

namespace ProtoRpc.Load;

/// <summary>Which calls of a slice are made, and when they are due. Times are ticks of
/// <see cref="Stopwatch"/>, which the caller reads, so that tests need no clock. Safe for use by many
/// threads.</summary>
internal sealed class CallSchedule
{
    private readonly long _start;
    private readonly long _end;
    private readonly long _count;
    private readonly double _interval;
    private readonly long _first;
    private long _next = -1;
    private long _sent;

    /// <param name="start">When the slice begins.</param>
    /// <param name="duration">How long calls are begun; null where <paramref name="count"/> ends it.</param>
    /// <param name="count">How many calls are begun at most; null where <paramref name="duration"/> ends
    /// it.</param>
    /// <param name="rate">Calls a second; null for calls as fast as callers are free.</param>
    /// <param name="untilFirst">The time from the begin to the first call with a rate: what
    /// <see cref="UntilNext"/> said of the slice before.</param>
    public CallSchedule(long start, TimeSpan? duration, long? count, double? rate, long untilFirst = 0)
    {
        _start = start;
        _end = duration is { } time
            ? start + (long)(time.TotalSeconds * Stopwatch.Frequency)
            : long.MaxValue;
        _count = count ?? long.MaxValue;
        _interval = rate is { } perSecond ? Stopwatch.Frequency / perSecond : 0;
        _first = start + untilFirst;
    }

    /// <summary>When the slice begins, where its length or the times of its calls are given; null where it is
    /// as long as its calls take.</summary>
    public long? Start => IsPaced || _end < long.MaxValue ? _start : null;

    /// <summary>Whether calls are due at times, whether or not a caller is free.</summary>
    public bool IsPaced => _interval > 0;

    /// <summary>Until when the slice goes on although all its calls have ended; null where it ends with
    /// them.</summary>
    /// <remarks>A slice that ended with its last call would be shorter than the time in which as many calls
    /// are due.</remarks>
    public long? OpenUntil =>
        IsPaced && _end < long.MaxValue && Interlocked.Read(ref _sent) < _count ? _end : null;

    /// <summary>The next call for a caller that is free.</summary>
    /// <param name="now">The time.</param>
    /// <param name="due">When the call is due; <paramref name="now"/> where calls are not paced.</param>
    /// <returns>False when no further call is begun.</returns>
    public bool TryTake(long now, out long due)
    {
        due = now;
        if (now >= _end)
        {
            return false;
        }

        long index = Interlocked.Increment(ref _next);
        if (index >= _count)
        {
            return false;
        }

        if (IsPaced)
        {
            due = DueOf(index);
            if (due >= _end)
            {
                return false;
            }
        }

        Interlocked.Increment(ref _sent);
        return true;
    }

    /// <summary>Calls that were due and that no caller has taken.</summary>
    /// <param name="now">The time, once no further call is taken.</param>
    public long NotSent(long now)
    {
        if (!IsPaced)
        {
            return 0;
        }

        return Math.Max(0, DueBy(now) - Interlocked.Read(ref _sent));
    }

    /// <summary>How long after the end of this slice the next call is due, in a slice that goes on with the
    /// same rate; 0 where calls are not paced, or where it is due already.</summary>
    /// <param name="end">When the slice ended.</param>
    public long UntilNext(long end) =>
        IsPaced ? Math.Max(0, DueOf(DueBy(end)) - Math.Min(end, _end)) : 0;

    // How many calls were due before a time.
    private long DueBy(long now)
    {
        double due = Math.Ceiling((Math.Min(now, _end) - _first) / _interval);
        return (long)Math.Clamp(due, 0, _count);
    }

    private long DueOf(long index) => _first + (long)(index * _interval);
}

using System.Diagnostics;

namespace ProtoRpc.Transports;

/// <summary>The time of one call, for all attempts and on every transport: its deadline, the caller's
/// cancellation, and the errors for both.</summary>
internal readonly struct CallClock
{
    private static readonly TimeSpan Least = TimeSpan.FromMilliseconds(1);
    private static readonly TimeSpan Early = TimeSpan.FromMilliseconds(50);

    private readonly long _start;
    private readonly long _deadline;

    private CallClock(TimeSpan timeout, long start, long deadline, CancellationToken caller)
    {
        Timeout = timeout;
        _start = start;
        _deadline = deadline;
        Caller = caller;
    }

    /// <summary>The longest time of a timer. A caller that waits longer has no limit.</summary>
    public static TimeSpan Longest { get; } = TimeSpan.FromMilliseconds(int.MaxValue);

    /// <summary>A limit for a timer; InfiniteTimeSpan if it is longer than timers support.</summary>
    public static TimeSpan ForTimer(TimeSpan limit) =>
        limit > Longest ? System.Threading.Timeout.InfiniteTimeSpan : limit;

    /// <summary>The whole time of the call; InfiniteTimeSpan for no limit.</summary>
    public TimeSpan Timeout { get; }

    /// <summary>Cancelled by the caller.</summary>
    public CancellationToken Caller { get; }

    /// <summary>How long this attempt may take to reach its server, so that time is left for another server;
    /// null for no limit of its own.</summary>
    public TimeSpan? Reach { get; init; }

    /// <summary>The time for connecting.</summary>
    /// <param name="bound">The limit for connecting; null for none.</param>
    public CallClock ToConnect(TimeSpan? bound) =>
        (Reach is { } reach && !(bound < reach) ? reach : bound) is { } time ? Within(time) : this;

    /// <summary>Whether the call has no time limit.</summary>
    public bool IsEndless => Timeout == System.Threading.Timeout.InfiniteTimeSpan;

    /// <summary>The remaining time; InfiniteTimeSpan for no limit, and never below zero.</summary>
    public TimeSpan Left
    {
        get
        {
            if (IsEndless)
            {
                return Timeout;
            }

            long now = Stopwatch.GetTimestamp();
            TimeSpan left = Timeout - Stopwatch.GetElapsedTime(_start, now);
            if (_deadline != long.MaxValue && Stopwatch.GetElapsedTime(now, _deadline) is var until
                && until < left)
            {
                left = until;
            }

            return left > TimeSpan.Zero ? left : TimeSpan.Zero;
        }
    }

    /// <summary>Whether so little time is left that it may be over by the timer of the server, which can be
    /// a little early.</summary>
    public bool IsAboutOver => !IsEndless && Left < Early;

    /// <summary>Whether the time is over.</summary>
    public bool IsOver => Left == TimeSpan.Zero;

    /// <summary>Starts the time of a call: its timeout, or the time until its deadline if that is
    /// shorter.</summary>
    public static CallClock Start(
        TimeSpan timeout, CancellationToken caller = default, DateTimeOffset? deadline = null)
    {
        long start = Stopwatch.GetTimestamp();
        timeout = ForTimer(timeout);
        if (deadline is not { } end || (end - DateTimeOffset.UtcNow is var left && left > Longest))
        {
            return new(timeout, start, long.MaxValue, caller);
        }

        // A negative time of one millisecond would be InfiniteTimeSpan.
        left = left > TimeSpan.Zero ? left : TimeSpan.Zero;
        bool isEndless = timeout == System.Threading.Timeout.InfiniteTimeSpan;
        long until = start + (long)(left.TotalSeconds * Stopwatch.Frequency);
        return new(isEndless || left < timeout ? left : timeout, start, until, caller);
    }

    /// <summary>The same time for another token.</summary>
    public CallClock For(CancellationToken caller) =>
        new(Timeout, _start, _deadline, caller) { Reach = Reach };

    /// <summary>The whole time once more, for the next of several requests, but never beyond the
    /// deadline.</summary>
    public CallClock Again() => new(Timeout, Stopwatch.GetTimestamp(), _deadline, Caller);

    /// <summary>The time of a part of the call with a limit, such as connecting. Never zero, so that the part
    /// itself reports how it ended.</summary>
    public CallClock Within(TimeSpan bound)
    {
        if (IsEndless)
        {
            return Start(bound, Caller);
        }

        TimeSpan left = Left > Least ? Left : Least;
        bool isSooner = bound == System.Threading.Timeout.InfiniteTimeSpan || left < bound;
        return Start(isSooner ? left : bound, Caller);
    }

    /// <summary>The reason that ended the call: its caller or the time; null for neither. The caller has
    /// priority, because nobody waits for the result of a cancelled call.</summary>
    /// <param name="endpoint">The server.</param>
    /// <param name="sent">Whether the server may have received the whole request, and so may have run the
    /// call.</param>
    /// <param name="cause">The exception.</param>
    /// <param name="isLate">Whether a timer has fired, which may be slightly before the deadline.</param>
    public RpcException? Ended(
        RpcEndpoint endpoint, bool sent, Exception? cause = null, bool isLate = false) =>
        Caller.IsCancellationRequested ? CallErrors.Cancelled(endpoint, sent, cause)
        : !IsEndless && (isLate || IsOver) ? TimedOut(endpoint, sent, cause)
        : null;

    /// <summary>Rejects a request if no time is left to send it.</summary>
    /// <exception cref="RpcException">DeadlineExceeded.</exception>
    public void RequireTime(RpcEndpoint endpoint)
    {
        if (IsOver)
        {
            throw TimedOut(endpoint, sent: false);
        }
    }

    /// <summary>Ended by the time.</summary>
    public RpcException TimedOut(RpcEndpoint endpoint, bool sent, Exception? cause = null) =>
        CallErrors.TimedOut(endpoint, Timeout, sent, cause);
}

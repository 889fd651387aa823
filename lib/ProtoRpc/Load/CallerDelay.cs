namespace ProtoRpc.Load;

/// <summary>When the latency of a caller's calls begins, if calls are due at times.</summary>
/// <remarks>A call that is due while its caller waits for the server counts from then. A caller that sleeps
/// until its call is due wakes up about a millisecond late, which is no delay of the server's. The calls that
/// were due while it slept count as if they were due that much later.</remarks>
internal struct CallerDelay
{
    private long _overslept;
    private long _awake;
    private bool _hasCalled;

    /// <summary>When the latency of a call begins.</summary>
    /// <param name="due">When the call is due.</param>
    /// <param name="free">When the caller was free for it.</param>
    /// <param name="now">When it is sent.</param>
    /// <param name="isLate">Whether it was sent late because its caller waited for the server.</param>
    public long StartOf(long due, long free, long now, out bool isLate)
    {
        isLate = false;
        if (!_hasCalled || free <= due)
        {
            _hasCalled = true;
            _awake = now;
            _overslept = now - due;
            return now;
        }

        long start = due < _awake ? due + _overslept : due;
        isLate = start < now;
        return isLate ? start : now;
    }
}

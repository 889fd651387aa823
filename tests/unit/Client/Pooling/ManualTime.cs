namespace ProtoRpc.Tests.Client.Pooling;

/// <summary>A clock that a test moves; timers fire while it is moved.</summary>
internal sealed class ManualTime : TimeProvider
{
    private readonly List<ManualTimer> _timers = [];
    private TimeSpan _now;

    public override long TimestampFrequency => TimeSpan.TicksPerSecond;

    public override long GetTimestamp() => _now.Ticks;

    public override ITimer CreateTimer(
        TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        ManualTimer timer = new(this, () => callback(state));
        timer.Change(dueTime, period);
        _timers.Add(timer);
        return timer;
    }

    public void Advance(TimeSpan time)
    {
        _now += time;
        foreach (ManualTimer timer in _timers.ToArray())
        {
            timer.FireIfDue();
        }
    }

    private sealed class ManualTimer(ManualTime time, Action fire) : ITimer
    {
        private TimeSpan? _due;

        public bool Change(TimeSpan dueTime, TimeSpan period)
        {
            _due = dueTime == Timeout.InfiniteTimeSpan ? null : time._now + dueTime;
            return true;
        }

        public void FireIfDue()
        {
            if (_due <= time._now)
            {
                _due = null;
                fire();
            }
        }

        public void Dispose() => _due = null;

        public ValueTask DisposeAsync()
        {
            Dispose();
            return default;
        }
    }
}

namespace ProtoRpc.Benchmarks.Transfer;

/// <summary>Watches how large the managed heap becomes.</summary>
internal sealed class PeakMemory : IDisposable
{
    private static readonly TimeSpan Period = TimeSpan.FromMilliseconds(10);
    private readonly Timer _timer;
    private long _peak;

    public PeakMemory()
    {
        GC.Collect();
        _timer = new Timer(_ => Look(), null, TimeSpan.Zero, Period);
    }

    /// <summary>The largest size that was seen, in bytes.</summary>
    public long Stop()
    {
        Look();
        return Volatile.Read(ref _peak);
    }

    public void Dispose() => _timer.Dispose();

    private void Look()
    {
        long now = GC.GetTotalMemory(forceFullCollection: false);
        long peak;
        while (now > (peak = Volatile.Read(ref _peak)))
        {
            Interlocked.CompareExchange(ref _peak, now, peak);
        }
    }
}

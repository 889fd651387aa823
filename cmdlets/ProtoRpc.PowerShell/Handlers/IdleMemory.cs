namespace ProtoRpc.PowerShell.Handlers;

/// <summary>Returns memory to the system after a listener has been idle for a while.</summary>
/// <remarks>.NET only collects garbage when something is allocated, and keeps freed memory. After one large
/// request, an idle listener would keep its memory forever.</remarks>
internal sealed class IdleMemory : IDisposable
{
    // Smaller amounts are kept, because a collection pauses the process for some milliseconds.
    private const long WorthIt = 16L * 1024 * 1024;
    private static readonly TimeSpan Quiet = TimeSpan.FromSeconds(5);

    private readonly Timer _timer;
    private long _kept = Committed();
    private long _lastUse;
    private int _armed;

    public IdleMemory() => _timer = new Timer(static self => ((IdleMemory)self!).Look(), this, -1, -1);

    /// <summary>Notes that a call begins or ends.</summary>
    public void NoteUse()
    {
        Volatile.Write(ref _lastUse, Environment.TickCount64);
        if (Volatile.Read(ref _armed) == 0 && Interlocked.Exchange(ref _armed, 1) == 0)
        {
            _timer.Change(Quiet, Timeout.InfiniteTimeSpan);
        }
    }

    public void Dispose() => _timer.Dispose();

    private static long Committed() => GC.GetGCMemoryInfo(GCKind.Any).TotalCommittedBytes;

    private void Look()
    {
        TimeSpan left =
            Quiet - TimeSpan.FromMilliseconds(Environment.TickCount64 - Volatile.Read(ref _lastUse));
        if (left > TimeSpan.Zero)
        {
            try
            {
                _timer.Change(left, Timeout.InfiniteTimeSpan);
            }
            catch (ObjectDisposedException)
            {
                // The listener has stopped.
            }

            return;
        }

        Volatile.Write(ref _armed, 0);
        if (Committed() - _kept > WorthIt)
        {
            GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
            _kept = Committed();
        }
    }
}

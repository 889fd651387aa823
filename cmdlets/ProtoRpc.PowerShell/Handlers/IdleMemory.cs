namespace ProtoRpc.PowerShell.Handlers;

/// <summary>Gives memory back to the system when a listener has had nothing to do for a while.</summary>
/// <remarks>.NET collects when something is allocated, and keeps what it has freed: after one large request a
/// listener without calls would hold on to its memory for good.</remarks>
internal sealed class IdleMemory : IDisposable
{
    // What is less stays: a collection stops the process for some milliseconds.
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
                // The listener stopped meanwhile.
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

namespace ProtoRpc.Fuzz.Engine;

/// <summary>What the reads of one run of an input allocated on its thread.</summary>
internal sealed class Meter
{
    /// <summary>The most that one read allocated.</summary>
    public long Allocated { get; private set; }

    public void Reset() => Allocated = 0;

    /// <summary>Reads, and counts what that allocates.</summary>
    public T Measure<T>(Func<T> read)
    {
        long before = GC.GetAllocatedBytesForCurrentThread();
        try
        {
            return read();
        }
        finally
        {
            Allocated = Math.Max(Allocated, GC.GetAllocatedBytesForCurrentThread() - before);
        }
    }
}

namespace ProtoRpc.Benchmarks.Codec;

/// <summary>Counts what an operation allocates.</summary>
internal static class Allocations
{
    /// <summary>Bytes of one operation on this thread, the average of a few.</summary>
    public static long Of(Action operation)
    {
        const int Count = 20;
        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int i = 0; i < Count; i++)
        {
            operation();
        }

        return (GC.GetAllocatedBytesForCurrentThread() - before) / Count;
    }
}

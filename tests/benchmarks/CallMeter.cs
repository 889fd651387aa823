using System.Diagnostics;

namespace ProtoRpc.Benchmarks;

/// <summary>Measures calls of a client whose server is in the same process.</summary>
internal static class CallMeter
{
    /// <summary>The number of calls of <see cref="Repeat"/>.</summary>
    public const int CountedCalls = 1000;

    /// <summary>Calls per second of several callers.</summary>
    public static double Rate(Func<Task> call, int callers, TimeSpan time)
    {
        long calls = 0;
        long start = Stopwatch.GetTimestamp();
        Task.WaitAll([.. Enumerable.Range(0, callers).Select(_ => Task.Run(async () =>
        {
            while (Stopwatch.GetElapsedTime(start) < time)
            {
                await call();
                Interlocked.Increment(ref calls);
            }
        }))]);
        return calls / Stopwatch.GetElapsedTime(start).TotalSeconds;
    }

    /// <summary>The bytes that a call allocates, with the server's share.</summary>
    public static long Allocated(Func<Task> call)
    {
        long before = GC.GetTotalAllocatedBytes(precise: true);
        Repeat(call);
        return (GC.GetTotalAllocatedBytes(precise: true) - before) / CountedCalls;
    }

    /// <summary>Makes calls, one after the other.</summary>
    public static void Repeat(Func<Task> call)
    {
        for (int i = 0; i < CountedCalls; i++)
        {
            call().GetAwaiter().GetResult();
        }
    }
}

using System.Diagnostics;

namespace ProtoRpc.LongRun.Measures;

/// <summary>Measures this process at a steady pace.</summary>
internal sealed class Sampler(Func<long> calls, TimeSpan period)
{
    private readonly List<Sample> _samples = [];

    public IReadOnlyList<Sample> Samples => _samples;

    public async Task RunAsync(CancellationToken stop)
    {
        long start = Stopwatch.GetTimestamp();
        using PeriodicTimer pace = new(period);
        try
        {
            while (await pace.WaitForNextTickAsync(stop).ConfigureAwait(false))
            {
                _samples.Add(Take(Stopwatch.GetElapsedTime(start).TotalSeconds));
            }
        }
        catch (OperationCanceledException)
        {
            // The run is over.
        }
    }

    // Handles come before the collection, which would close forgotten ones and so hide a leak.
    private Sample Take(double seconds)
    {
        using Process process = Process.GetCurrentProcess();
        (int handles, int threads) = (ProcessEntries.CountHandles(), process.Threads.Count);
        GC.Collect();

        // What waits for its finalizer, such as a socket, is still counted after one collection.
        GC.WaitForPendingFinalizers();
        GC.Collect();
        double heap = Mebibytes(GC.GetTotalMemory(forceFullCollection: false));
        process.Refresh();
        return new Sample(seconds, calls(), handles, threads, heap, Mebibytes(process.WorkingSet64));
    }

    private static double Mebibytes(long bytes) => bytes / (1024.0 * 1024.0);
}

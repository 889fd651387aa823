namespace ProtoRpc.LongRun.Measures;

/// <summary>A measure that must stay flat.</summary>
/// <param name="Name">Its name in the report.</param>
/// <param name="Of">Its value; null where the process has none.</param>
/// <param name="Most">How much it may grow from the first to the last sample after the warm-up, however long
/// that is.</param>
internal sealed record Measure(string Name, Func<Sample, double?> Of, double Most)
{
    /// <summary>The measures. The bounds are above what the garbage collector, the thread pool and PowerShell
    /// do by themselves, and far below what a leak of one object for each call or listener adds.</summary>
    public static IReadOnlyList<Measure> All { get; } =
    [
        new("handles", sample => sample.Handles, 12),
        new("threads", sample => sample.Threads, 8),
        new("heap MiB", sample => sample.HeapMiB, 6),
        new("resident MiB", sample => sample.ResidentMiB, 48),
        new("runspaces", sample => sample.Runspaces, 2),
    ];
}

using System.Diagnostics;
using System.Globalization;

namespace ProtoRpc.Benchmarks.Codec;

/// <summary>Times small operations in turns, so that their ratio holds on a machine that does other things
/// as well. BenchmarkDotNet measures one operation to its end before the next one begins, in a project that
/// it builds for each run.</summary>
internal static class MicroRace
{
    private const int Batch = 5;

    // A page has a hundred operations, each in a process that others have warmed already.
    private const int Share = 5;

    /// <summary>The length of a turn: shorter than a system's time slice, so that most turns are not
    /// interrupted on a busy machine, and all see the same weather.</summary>
    public static TimeSpan Turn { get; } = TimeSpan.FromMilliseconds(2);

    /// <summary>How is measured, for a report.</summary>
    public static string Describe(BenchmarkOptions options) => string.Create(
        CultureInfo.InvariantCulture,
        $"One thread. Each operation warms up for {options.WarmUp.TotalSeconds / Share} s; then all that are "
        + $"compared run in turns of {Turn.TotalMilliseconds} ms, for {Time(options).TotalSeconds} s "
        + $"together. A time is what the fastest tenth of the turns kept.");

    /// <summary>Times operations against each other.</summary>
    public static MicroTime[] Run(BenchmarkOptions options, params Action[] operations)
    {
        foreach (Action operation in operations)
        {
            Measure(operation, options.WarmUp / Share);
        }

        int turns = Math.Max(3, (int)(Time(options) / (operations.Length * Turn)));
        List<double>[] times = [.. operations.Select(_ => new List<double>())];
        for (int turn = 0; turn < turns; turn++)
        {
            for (int i = 0; i < operations.Length; i++)
            {
                times[i].Add(Measure(operations[i], Turn));
            }
        }

        return
        [
            .. operations.Zip(times, (operation, own) => new MicroTime(
                own.Min(),
                own.Order().ElementAt(own.Count / 10),
                ResultTable.Median(own),
                Allocations.Of(operation))),
        ];
    }

    private static TimeSpan Time(BenchmarkOptions options) => options.Rounds * options.Round / Share;

    // Microseconds for one operation.
    private static double Measure(Action operation, TimeSpan time)
    {
        long start = Stopwatch.GetTimestamp();
        long count = 0;
        TimeSpan elapsed;
        do
        {
            // Reading the clock takes as long as a small message.
            for (int i = 0; i < Batch; i++)
            {
                operation();
            }

            count += Batch;
            elapsed = Stopwatch.GetElapsedTime(start);
        }
        while (elapsed < time);
        return elapsed.TotalMicroseconds / count;
    }
}

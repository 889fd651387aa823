using System.Diagnostics;

namespace ProtoRpc.Benchmarks.Transport;

/// <summary>Measures stacks in turns, so that what else the machine does meets all of them.</summary>
internal static class StackTurns
{
    // Methods are compiled again when they were called often, and once more with what was seen in between.
    private const int WarmUps = 2;

    // Of one processor, for all processes together: servers look at their clocks each second.
    private const double IdleShare = 0.2;
    private static readonly TimeSpan IdleTime = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan LongestSettling = TimeSpan.FromMinutes(2);

    /// <summary>Warms every stack up, then measures rounds of all of them.</summary>
    /// <param name="what">What the stacks have in common, for the results.</param>
    /// <param name="records">The size that they share, for the results.</param>
    /// <param name="starts">Starts each stack.</param>
    /// <param name="options">How long, and how many rounds.</param>
    public static IReadOnlyList<TransportResult> Measure(
        string what, int records, IReadOnlyList<Func<WorkerStack>> starts, BenchmarkOptions options)
    {
        List<WorkerStack> stacks = [];
        try
        {
            foreach (Func<WorkerStack> start in starts)
            {
                stacks.Add(start());
            }

            for (int i = 0; i < WarmUps; i++)
            {
                stacks.ForEach(stack => stack.Call(options.WarmUp / WarmUps));
                Settle(stacks);
            }

            Dictionary<WorkerStack, List<CallRound>> rounds =
                stacks.ToDictionary(stack => stack, _ => new List<CallRound>());
            for (int i = 0; i < options.Rounds; i++)
            {
                // Forth and back, so that no stack always comes after the same other one.
                foreach (WorkerStack stack in i % 2 == 0 ? stacks : Enumerable.Reverse(stacks))
                {
                    rounds[stack].Add(stack.Call(options.Round));
                }
            }

            return
            [
                .. stacks.Select(stack => new TransportResult
                {
                    Transport = what,
                    Records = records,
                    Kind = stack.Kind,
                    Rounds = rounds[stack],
                }),
            ];
        }
        finally
        {
            stacks.ForEach(stack => stack.Dispose());
        }
    }

    // What was called is compiled in the background, for a second and more in each process. Dozens of
    // processes would do so while others are measured, and make those seem ten times slower.
    private static void Settle(IReadOnlyCollection<WorkerStack> stacks)
    {
        Worker[] workers = [.. stacks.SelectMany(stack => stack.Workers)];
        long start = Stopwatch.GetTimestamp();
        TimeSpan used = TimeSpan.MaxValue;
        while (used > IdleTime * IdleShare && Stopwatch.GetElapsedTime(start) < LongestSettling)
        {
            TimeSpan before = UsedBy(workers);
            Thread.Sleep(IdleTime);
            used = UsedBy(workers) - before;
        }
    }

    private static TimeSpan UsedBy(IEnumerable<Worker> workers) =>
        workers.Aggregate(TimeSpan.Zero, (sum, worker) => sum + worker.ProcessorTime);
}

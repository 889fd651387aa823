namespace ProtoRpc.Benchmarks.Transport;

/// <summary>Measures stacks in turns, so that what else the machine does meets all of them.</summary>
internal static class StackTurns
{
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

            stacks.ForEach(stack => stack.Call(options.WarmUp));
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
}

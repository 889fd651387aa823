namespace ProtoRpc.Benchmarks.Scale;

/// <summary>Something whose cost grows with the number of its parts.</summary>
/// <param name="What">What is done.</param>
/// <param name="Parts">What is counted.</param>
/// <param name="Least">The smallest number.</param>
/// <param name="Most">The largest number; each is twice the one before.</param>
/// <param name="Create">Prepares a number of parts.</param>
internal sealed record ScaleSubject(
    string What, string Parts, int Least, int Most, Func<int, ScaleCase> Create)
{
    public IEnumerable<int> Sizes
    {
        get
        {
            for (int size = Least; size <= Most; size *= 2)
            {
                yield return size;
            }
        }
    }
}

/// <summary>A number of parts that was prepared. Disposing ends what was prepared.</summary>
/// <param name="run">What is measured.</param>
/// <param name="ends">What was opened, the first one first.</param>
internal sealed class ScaleCase(Action run, params IDisposable[] ends) : IDisposable
{
    /// <summary>The memory that each part holds, in bytes; null where it is not measured.</summary>
    public double? HeldBytes { get; init; }

    public void Run() => run();

    public void Dispose()
    {
        foreach (IDisposable end in ends.Reverse())
        {
            end.Dispose();
        }
    }
}

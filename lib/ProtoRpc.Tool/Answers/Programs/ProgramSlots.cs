namespace ProtoRpc.Tool.Answers.Programs;

/// <summary>Limits the programs that run at the same time; further calls wait.</summary>
internal sealed class ProgramSlots
{
    // Reading of pipes blocks a thread for each of the three streams of a program.
    private const int ThreadsOfProgram = 4;
    private static readonly int MaxWaiting = RpcLimits.Default.MaxQueuedCalls;
    private readonly SemaphoreSlim _free;
    private int _waiting;

    public ProgramSlots(int count)
    {
        _free = new SemaphoreSlim(count);
        ThreadPool.GetMinThreads(out int workers, out int ports);
        ThreadPool.SetMinThreads(Math.Max(workers, count * ThreadsOfProgram), ports);
    }

    /// <summary>The default number of programs that run at the same time.</summary>
    public static int DefaultCount => Math.Max(8, 2 * Environment.ProcessorCount);

    /// <summary>Waits for a free slot; disposing gives it back.</summary>
    /// <exception cref="RpcException">ResourceExhausted: too many wait.</exception>
    public async ValueTask<IDisposable> TakeAsync(CancellationToken cancellation)
    {
        if (Interlocked.Increment(ref _waiting) > MaxWaiting)
        {
            Interlocked.Decrement(ref _waiting);
            throw new RpcException(
                RpcStatusCode.ResourceExhausted, $"{MaxWaiting} calls wait for a handler program.");
        }

        try
        {
            await _free.WaitAsync(cancellation);
        }
        finally
        {
            Interlocked.Decrement(ref _waiting);
        }

        return new Slot(_free);
    }

    private sealed class Slot(SemaphoreSlim free) : IDisposable
    {
        public void Dispose() => free.Release();
    }
}

using System.Collections.Concurrent;

namespace ProtoRpc.Tool.Answers.Programs;

/// <summary>Answers calls by a pool of programs that stay, each with one call at a time.</summary>
/// <param name="program">The program.</param>
/// <param name="slots">Bounds the programs.</param>
internal sealed class KeptProgramHandler(HandlerProgram program, ProgramSlots slots) : IAsyncDisposable
{
    private readonly ConcurrentStack<KeptProgram> _idle = new();
    private volatile bool _isStopped;

    public RpcMethodHandler ToHandler() => RpcMethodHandler.OfStreams(AnswerAsync);

    /// <summary>Ends the programs that wait.</summary>
    public async ValueTask DisposeAsync()
    {
        _isStopped = true;
        List<Task> stopping = [];
        while (_idle.TryPop(out KeptProgram? kept))
        {
            stopping.Add(kept.StopAsync());
        }

        await Task.WhenAll(stopping);
    }

    private async ValueTask AnswerAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        using IDisposable slot = await slots.TakeAsync(context.CancellationToken);
        KeptProgram kept = Take();
        bool isOfUse = false;
        try
        {
            RpcException? failure = await kept.AnswerAsync(context, stream);
            isOfUse = !context.CancellationToken.IsCancellationRequested;
            if (failure is not null)
            {
                throw failure;
            }
        }
        finally
        {
            if (isOfUse && !_isStopped)
            {
                _idle.Push(kept);
            }
            else
            {
                kept.Dispose();
            }
        }
    }

    private KeptProgram Take()
    {
        while (_idle.TryPop(out KeptProgram? kept))
        {
            if (kept.IsReady)
            {
                return kept;
            }

            kept.Dispose();
        }

        return new KeptProgram(program);
    }
}

using System.Runtime.ExceptionServices;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>A call with its reply.</summary>
/// <param name="context">Who calls.</param>
/// <param name="script">What handles it.</param>
/// <param name="blocking">Whether a thread waits for the reply, and not a task.</param>
internal abstract class HandlerCall<TReply>(RpcPeerContext context, ScriptSource script, bool blocking)
    : HandlerCall(context, script)
{
    // Long enough for an empty handler on a free core, short enough not to burn the core of a slow one.
    private const int SpinCount = 10;

    private readonly ManualResetEventSlim? _ended = blocking ? new(false, SpinCount) : null;
    private readonly TaskCompletionSource<TReply>? _task =
        blocking ? null : new(TaskCreationOptions.RunContinuationsAsynchronously);

    private int _done;
    private TReply? _reply;
    private Exception? _error;

    /// <summary>Runs the script, and gives what it stands for.</summary>
    public abstract TReply Execute(HandlerWorker worker);

    /// <inheritdoc/>
    public override void Run(HandlerWorker worker) => Complete(Execute(worker));

    /// <inheritdoc/>
    public override void Fail(Exception error)
    {
        if (Interlocked.Exchange(ref _done, 1) == 0)
        {
            _error = error;
            _task?.SetException(error);
            _ended?.Set();
        }
    }

    /// <summary>Blocks until the call ends; one that is cancelled or past its deadline is given up.</summary>
    public TReply Wait(Action<HandlerCall> giveUp)
    {
        if (!WaitUntilDeadline())
        {
            giveUp(this);
            _ended!.Wait();
        }

        if (_error is not null)
        {
            // With the stack trace of the place where the handler failed.
            ExceptionDispatchInfo.Throw(_error);
        }

        return _reply!;
    }

    /// <summary>The same without holding a thread of the pool.</summary>
    public async ValueTask<TReply> WaitAsync(Action<HandlerCall> giveUp)
    {
        using CancellationTokenRegistration cancelled =
            Context.CancellationToken.UnsafeRegister(_ => giveUp(this), null);
        return await _task!.Task.ConfigureAwait(false);
    }

    // Not when the call was given up meanwhile.
    private void Complete(TReply reply)
    {
        if (Interlocked.Exchange(ref _done, 1) == 0)
        {
            _reply = reply;
            _task?.SetResult(reply);
            _ended?.Set();
        }
    }

    private bool WaitUntilDeadline()
    {
        try
        {
            if (Context.Deadline is not { } deadline)
            {
                _ended!.Wait(Context.Clock.Aborted);
                return true;
            }

            double left = (deadline - DateTimeOffset.UtcNow).TotalMilliseconds;
            return _ended!.Wait((int)Math.Clamp(left, 0, int.MaxValue), Context.Clock.Aborted);
        }
        catch (OperationCanceledException)
        {
            return false;
        }
    }
}

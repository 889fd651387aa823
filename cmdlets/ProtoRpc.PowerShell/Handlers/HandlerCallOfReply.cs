using System.Runtime.ExceptionServices;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>A call with its reply.</summary>
/// <param name="context">Who calls.</param>
/// <param name="script">What handles it.</param>
internal abstract class HandlerCall<TReply>(RpcPeerContext context, ScriptSource script)
    : HandlerCall(context, script)
{
    // Long enough for an empty handler on a free core, short enough not to burn the core of a slow one.
    private const int SpinCount = 10;

    // What waits for the reply: neither for a call that runs on the thread of its connection.
    private ManualResetEventSlim? _ended;
    private TaskCompletionSource<TReply>? _task;

    private int _done;
    private TReply? _reply;
    private Exception? _error;

    /// <summary>Whether it can run on the thread of its connection.</summary>
    public virtual bool CanRunHere => Script.Pace.IsShort;

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

    /// <summary>Prepares to wait for the reply, before a worker gets the call.</summary>
    /// <param name="blocking">Whether a thread waits for it, and not a task.</param>
    public void Expect(bool blocking)
    {
        if (blocking)
        {
            _ended = new(false, SpinCount);
        }
        else
        {
            _task = new(TaskCreationOptions.RunContinuationsAsynchronously);
        }
    }

    /// <summary>The reply of a call that has ended.</summary>
    public TReply Result()
    {
        if (_error is not null)
        {
            // With the stack trace of the place where the handler failed.
            ExceptionDispatchInfo.Throw(_error);
        }

        return _reply!;
    }

    /// <summary>Blocks until the call ends; one that is cancelled or past its deadline is given up.</summary>
    public TReply Wait(Action<HandlerCall> giveUp)
    {
        if (!WaitUntilDeadline())
        {
            giveUp(this);
            _ended!.Wait();
        }

        return Result();
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
            return _ended!.Wait(Context.Clock.Left, Context.Clock.Aborted);
        }
        catch (OperationCanceledException)
        {
            return false;
        }
    }
}

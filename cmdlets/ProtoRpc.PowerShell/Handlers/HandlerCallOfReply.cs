using System.Runtime.ExceptionServices;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>A call that returns a reply.</summary>
/// <param name="context">The context of the call.</param>
/// <param name="script">The handler or filter to run.</param>
internal abstract class HandlerCall<TReply>(RpcPeerContext context, ScriptSource script)
    : HandlerCall(context, script)
{
    // Long enough for an empty handler on a free core, short enough not to burn the core of a slow one.
    private const int SpinCount = 10;

    // The waiting thread or task. Both are null for a call that runs on the thread of its connection.
    private ManualResetEventSlim? _ended;
    private TaskCompletionSource<TReply>? _task;

    private int _done;
    private TReply? _reply;
    private Exception? _error;

    /// <summary>Whether the call can run on the thread of its connection.</summary>
    public virtual bool CanRunHere => Script.Pace.IsShort;

    /// <summary>Runs the script and converts its output to the reply.</summary>
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

    /// <summary>Prepares to wait for the reply. Call this before a worker gets the call.</summary>
    /// <param name="blocking">Whether a thread waits, instead of a task.</param>
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
            // Keeps the stack trace of the place where the handler failed.
            ExceptionDispatchInfo.Throw(_error);
        }

        return _reply!;
    }

    /// <summary>Blocks until the call ends. Stops a call that is cancelled or past its deadline.</summary>
    public TReply Wait(Action<HandlerCall> giveUp)
    {
        if (!WaitUntilDeadline())
        {
            giveUp(this);
            _ended!.Wait();
        }

        return Result();
    }

    /// <summary>Waits like <see cref="Wait"/>, without blocking a thread.</summary>
    public async ValueTask<TReply> WaitAsync(Action<HandlerCall> giveUp)
    {
        using CancellationTokenRegistration cancelled =
            Context.CancellationToken.UnsafeRegister(_ => giveUp(this), null);
        return await _task!.Task.ConfigureAwait(false);
    }

    // Has no effect if the call was stopped meanwhile.
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

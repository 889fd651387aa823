using System.Runtime.ExceptionServices;
using Google.Protobuf;
using ProtoRpc.Calls;

namespace ProtoRpc.PowerShell;

/// <summary>One call on its way from a connection's thread to a worker and back.</summary>
internal sealed class HandlerCall(RpcCallContext context, IMessage request, ScriptSource script, bool blocking)
{
    // Long enough for an empty handler on a free core, short enough not to burn the core of a slow one.
    private const int SpinCount = 10;

    private readonly ManualResetEventSlim? _ended = blocking ? new(false, SpinCount) : null;
    private readonly TaskCompletionSource<IMessage>? _task =
        blocking ? null : new(TaskCreationOptions.RunContinuationsAsynchronously);

    private int _done;
    private IMessage? _reply;
    private Exception? _error;

    public RpcCallContext Context { get; } = context;

    public IMessage Request { get; } = request;

    public ScriptSource Script { get; } = script;

    /// <summary>Ends the call, unless it was given up meanwhile.</summary>
    public void Complete(IMessage reply)
    {
        if (Interlocked.Exchange(ref _done, 1) == 0)
        {
            _reply = reply;
            _task?.SetResult(reply);
            _ended?.Set();
        }
    }

    /// <summary>Ends the call with an error, unless it ended before.</summary>
    public void Fail(Exception error)
    {
        if (Interlocked.Exchange(ref _done, 1) == 0)
        {
            _error = error;
            _task?.SetException(error);
            _ended?.Set();
        }
    }

    /// <summary>Blocks until the call ends; one that is cancelled or past its deadline is given up.</summary>
    public IMessage Wait(Action<HandlerCall> giveUp)
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
    public async ValueTask<IMessage> WaitAsync(Action<HandlerCall> giveUp)
    {
        using CancellationTokenRegistration cancelled =
            Context.CancellationToken.UnsafeRegister(_ => giveUp(this), null);
        return await _task!.Task.ConfigureAwait(false);
    }

    private bool WaitUntilDeadline()
    {
        try
        {
            if (Context.Deadline is not { } deadline)
            {
                _ended!.Wait(Context.Aborted);
                return true;
            }

            double left = (deadline - DateTimeOffset.UtcNow).TotalMilliseconds;
            return _ended!.Wait((int)Math.Clamp(left, 0, int.MaxValue), Context.Aborted);
        }
        catch (OperationCanceledException)
        {
            return false;
        }
    }
}

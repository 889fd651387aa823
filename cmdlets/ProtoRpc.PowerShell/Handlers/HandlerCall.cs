using System.Diagnostics;
using System.Runtime.ExceptionServices;
using Google.Protobuf;
using ProtoRpc.Server.Calls;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>A call that a connection's thread passes to a worker.</summary>
internal abstract class HandlerCall(RpcPeerContext context, ScriptSource script)
{
    /// <summary>The context of the call, with its caller.</summary>
    public RpcPeerContext Context { get; } = context;

    /// <summary>The handler or filter to run.</summary>
    public ScriptSource Script { get; } = script;

    /// <summary>The activity of the call; null if nobody listens to activities.</summary>
    public Activity? Activity { get; } = Activity.Current;

    /// <summary>The call's place in the queue for a worker; null before it is queued.</summary>
    public CallQueue<HandlerCall>.Place? Place { get; set; }

    /// <summary>Whether the deadline has passed, or the caller has cancelled the call.</summary>
    public bool IsOver => Context.Clock.Aborted.IsCancellationRequested || Context.Clock.IsOver;

    /// <summary>The error for a call that is cancelled or late.</summary>
    public RpcException GivenUp() => Context.Clock.Aborted.IsCancellationRequested
        ? new RpcException(
            RpcStatusCode.Cancelled,
            "The handler was stopped before it ended: the listener is stopping, or the call was cancelled.")
        : Context.Clock.Late();

    /// <summary>Runs the script on a worker's thread, and ends the call.</summary>
    public abstract void Run(HandlerWorker worker);

    /// <summary>Fails the call, unless it has already ended.</summary>
    public abstract void Fail(Exception error);
}

/// <summary>The variables that a script sees.</summary>
/// <param name="Context"><c>$RpcContext</c>.</param>
internal sealed record HandlerVariables(RpcHandlerContext Context)
{
    /// <summary><c>$Request</c>, the message, or <c>$Bytes</c> of a raw call.</summary>
    public required object Request { get; init; }

    /// <summary><c>$RpcMethod</c>; null for a raw call.</summary>
    public object? Method { get; init; }

    /// <summary><c>$Next</c> of a filter.</summary>
    public object? Next { get; init; }
}

/// <summary>A call that returns a reply.</summary>
/// <param name="context">The context of the call.</param>
/// <param name="script">The handler or filter to run.</param>
internal abstract class HandlerCall<TReply>(RpcPeerContext context, ScriptSource script)
    : HandlerCall(context, script)
{
    // Enough for an empty handler on a free core, but not so long that waiting for a slow handler wastes
    // processor time.
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

    public override void Run(HandlerWorker worker) => Complete(Execute(worker));

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

    // Has no effect if the call was stopped before.
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

/// <summary>A call of a streaming method. The handler reads requests as they arrive, and its output is sent
/// immediately.</summary>
/// <param name="context">The context of the call.</param>
/// <param name="stream">The messages in both directions.</param>
/// <param name="script">The handler.</param>
internal sealed class StreamCall(
    RpcServerCallContext context, RpcServerStream stream, ScriptSource script)
    : HandlerCall<bool>(context, script)
{
    private readonly RpcServerCallContext _context = context;

    public override bool CanRunHere => false;

    public override bool Execute(HandlerWorker worker)
    {
        RpcMethodContext shown = MethodFilterCall.ContextOf(worker, _context);
        object request = _context.Method.IsClientStreaming ? Requests(worker)
            : MethodFilterCall.ToShell(Wait(stream.PeekAsync()), worker);
        HandlerVariables variables = new(shown) { Request = request, Method = _context.Method };
        if (_context.Method.IsServerStreaming)
        {
            worker.Invoke(Script, variables, output => Send(shown, output));
        }
        else
        {
            IMessage reply = HandlerReply.ToMessage(_context.Method, worker.Invoke(Script, variables));
            shown.Flush();
            Wait(stream.WriteAsync(reply));
        }

        shown.Flush();
        return true;
    }

    private static T Wait<T>(ValueTask<T> task) =>
        task.IsCompleted ? task.GetAwaiter().GetResult() : task.AsTask().GetAwaiter().GetResult();

    private static void Wait(ValueTask task) => task.AsTask().GetAwaiter().GetResult();

    // Blocks for each request, because the worker's thread has nothing else to do.
    private IEnumerable<object> Requests(HandlerWorker worker)
    {
        while (Wait(stream.ReadAsync()) is { } request)
        {
            yield return MethodFilterCall.ToShell(request, worker);
        }
    }

    private void Send(RpcMethodContext shown, PSObject output)
    {
        IMessage reply = HandlerReply.ToMessage(_context.Method, output);
        shown.FlushHeaders();
        Wait(stream.WriteAsync(reply));
    }
}

using System.Diagnostics;
using ProtoRpc.Server.Admission;

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

using ProtoRpc.Server.Admission;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>One call on its way from a connection's thread to a worker and back.</summary>
internal abstract class HandlerCall(RpcPeerContext context, ScriptSource script)
{
    /// <summary>Who calls.</summary>
    public RpcPeerContext Context { get; } = context;

    /// <summary>What handles it.</summary>
    public ScriptSource Script { get; } = script;

    /// <summary>Where it waits for a worker; null before.</summary>
    public CallQueue<HandlerCall>.Place? Place { get; set; }

    /// <summary>Whether its time is over, or its caller gave it up.</summary>
    public bool IsOver => Context.Clock.Aborted.IsCancellationRequested || Context.Clock.IsOver;

    /// <summary>What a call ends with that is given up.</summary>
    public RpcException GivenUp() => Context.Clock.Aborted.IsCancellationRequested
        ? new RpcException(
            RpcStatusCode.Cancelled,
            "The handler was stopped before it ended: the listener is stopping, or the call was cancelled.")
        : Context.Clock.Late();

    /// <summary>Runs the script on a worker's thread, and ends the call.</summary>
    public abstract void Run(HandlerWorker worker);

    /// <summary>Ends the call with an error, unless it ended before.</summary>
    public abstract void Fail(Exception error);
}

/// <summary>What a script finds in its variables.</summary>
/// <param name="Context"><c>$RpcContext</c>.</param>
internal sealed record HandlerVariables(RpcHandlerContext Context)
{
    /// <summary><c>$Request</c> as a message, or <c>$Bytes</c> of the raw layer.</summary>
    public required object Request { get; init; }

    /// <summary><c>$RpcMethod</c>; null on the raw layer.</summary>
    public object? Method { get; init; }

    /// <summary><c>$Next</c> of a filter.</summary>
    public object? Next { get; init; }
}

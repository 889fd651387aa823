namespace ProtoRpc.PowerShell.Handlers;

/// <summary>One call on its way from a connection's thread to a worker and back.</summary>
internal abstract class HandlerCall(RpcPeerContext context, ScriptSource script)
{
    /// <summary>Who calls.</summary>
    public RpcPeerContext Context { get; } = context;

    /// <summary>What handles it.</summary>
    public ScriptSource Script { get; } = script;

    /// <summary>Runs the script on a worker's thread, and ends the call.</summary>
    public abstract void Run(HandlerWorker worker);

    /// <summary>Ends the call with an error, unless it ended before.</summary>
    public abstract void Fail(Exception error);
}

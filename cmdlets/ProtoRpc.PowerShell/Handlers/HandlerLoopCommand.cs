using System.Management.Automation;

namespace ProtoRpc.PowerShell.Handlers;

// Runs as the only command of a worker's pipeline. Not public, so that the module does not export it.
[Cmdlet(VerbsLifecycle.Invoke, "RpcHandlerLoop")]
internal sealed class HandlerLoopCommand : PSCmdlet
{
    [Parameter(Mandatory = true)]
    public HandlerWorker Worker { get; set; } = null!;

    protected override void EndProcessing() => Worker.RunCalls(this);
}

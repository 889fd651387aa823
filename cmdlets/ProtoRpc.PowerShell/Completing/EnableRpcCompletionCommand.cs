using System.Management.Automation;
using ProtoRpc.PowerShell.Completing;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

[Cmdlet(VerbsLifecycle.Enable, "RpcCompletion", SupportsShouldProcess = true)]
public sealed class EnableRpcCompletionCommand : RpcCmdlet
{
    protected override void Process()
    {
        if (ShouldProcess("TabExpansion2", "Complete hashtables of messages"))
        {
            new TabExpansion(this, RunspaceStore.Current.Completion).Enable();
            CompletionWarmUp.Begin();
        }
    }
}

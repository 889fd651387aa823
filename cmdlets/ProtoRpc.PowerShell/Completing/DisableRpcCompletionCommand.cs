using System.Management.Automation;
using ProtoRpc.PowerShell.Completing;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

[Cmdlet(VerbsLifecycle.Disable, "RpcCompletion", SupportsShouldProcess = true)]
public sealed class DisableRpcCompletionCommand : RpcCmdlet
{
    protected override void Process()
    {
        if (ShouldProcess("TabExpansion2", "Restore the previous function"))
        {
            new TabExpansion(this, RunspaceStore.Current.Completion).Disable();
        }
    }
}

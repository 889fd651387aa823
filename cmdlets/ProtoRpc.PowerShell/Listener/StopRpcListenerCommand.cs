using System.Management.Automation;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

[Cmdlet(
    VerbsLifecycle.Stop, "RpcListener", DefaultParameterSetName = ByListener, SupportsShouldProcess = true)]
[OutputType(typeof(RpcListener))]
public sealed class StopRpcListenerCommand : RpcListenerCommand
{
    [Parameter]
    [Deadline(AllowZero = true)]
    public TimeSpan? DrainTimeout { get; set; }

    [Parameter]
    public SwitchParameter PassThru { get; set; }

    protected override void Process()
    {
        foreach (RpcListener listener in ResolveListeners())
        {
            if (ShouldProcess(listener.ToString(), "Stop the listener"))
            {
                listener.Stop(DrainTimeout);
                RunspaceStore.Current.Remove(listener);
                if (PassThru)
                {
                    WriteObject(listener);
                }
            }
        }
    }
}

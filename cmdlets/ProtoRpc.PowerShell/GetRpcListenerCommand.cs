using System.Management.Automation;

namespace ProtoRpc.PowerShell;

[Cmdlet(VerbsCommon.Get, "RpcListener")]
[OutputType(typeof(RpcListener))]
public sealed class GetRpcListenerCommand : RpcCmdlet
{
    [Parameter(Position = 0)]
    public int[] Id { get; set; } = [];

    protected override void Process() => WriteObject(
        RunspaceStore.Current.Listeners.Where(listener => Id.Length == 0 || Id.Contains(listener.Id)),
        enumerateCollection: true);
}

using System.Management.Automation;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

[Cmdlet(VerbsCommon.Get, "RpcListener")]
[OutputType(typeof(RpcListener))]
public sealed class GetRpcListenerCommand : RpcCmdlet
{
    [Parameter(Position = 0)]
    [ArgumentCompleter(typeof(ListenerIdCompleter))]
    public int[] Id { get; set; } = [];

    protected override void Process() => WriteObject(
        Id.Length == 0
            ? RunspaceStore.Current.Listeners
            : WithIds(RunspaceStore.Current.Listeners, Id, listener => listener.Id, "listener"),
        enumerateCollection: true);
}

using System.Management.Automation;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

[Cmdlet(VerbsCommon.Get, "RpcSession")]
[OutputType(typeof(RpcSessionInfo))]
public sealed class GetRpcSessionCommand : RpcCmdlet
{
    [Parameter(Position = 0, ValueFromPipeline = true)]
    [ArgumentCompleter(typeof(ListenerCompleter))]
    public RpcListener[] Listener { get; set; } = [];

    [Parameter]
    [ArgumentCompleter(typeof(SessionIdCompleter))]
    public Guid[] Id { get; set; } = [];

    protected override void Process()
    {
        IEnumerable<RpcListener> listeners =
            MyInvocation.BoundParameters.ContainsKey(nameof(Listener))
                ? Listener
                : RunspaceStore.Current.Listeners;
        WriteObject(
            listeners.SelectMany(RpcSessionInfo.Of)
                .Where(session => Id.Length == 0 || Id.Contains(session.Id)),
            enumerateCollection: true);
    }
}

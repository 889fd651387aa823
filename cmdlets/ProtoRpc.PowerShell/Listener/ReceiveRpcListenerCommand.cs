using System.Management.Automation;
using ProtoRpc.PowerShell.Listener;

namespace ProtoRpc;

[Cmdlet(VerbsCommunications.Receive, "RpcListener", DefaultParameterSetName = ByListener)]
public sealed class ReceiveRpcListenerCommand : RpcStreamsCommand
{
    [Parameter]
    public SwitchParameter Keep { get; set; }

    protected override void Process()
    {
        IReadOnlyList<RpcListener> listeners = ResolveListeners();
        StreamPreferences.NeverStop(this, given: false);
        foreach (RpcListener listener in listeners)
        {
            foreach (object record in Keep ? listener.Streams.Peek() : listener.Streams.Take())
            {
                WriteRecord(record);
            }
        }
    }
}

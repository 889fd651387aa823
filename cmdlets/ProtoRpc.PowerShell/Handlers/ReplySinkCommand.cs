using System.Management.Automation;

namespace ProtoRpc.PowerShell.Handlers;

// Sends the replies of a streaming handler: the last command of its pipeline. Not public, so that the module
// does not export it.
[Cmdlet(VerbsCommunications.Send, "RpcReply")]
internal sealed class ReplySinkCommand : PSCmdlet
{
    [Parameter(Mandatory = true)]
    public Action<PSObject> Send { get; set; } = null!;

    [Parameter(ValueFromPipeline = true)]
    [AllowNull]
    public PSObject? InputObject { get; set; }

    protected override void ProcessRecord()
    {
        if (InputObject is not null)
        {
            Send(InputObject);
        }
    }
}

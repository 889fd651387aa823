using ProtoRpc.PowerShell.Connections;
using ProtoRpc.PowerShell.Methods;

namespace ProtoRpc;

[Cmdlet(VerbsCommunications.Receive, "RpcStream")]
[OutputType(typeof(PSObject), typeof(System.Collections.Specialized.OrderedDictionary))]
public sealed class ReceiveRpcStreamCommand : RpcStreamCommand
{
    private ReplyObjects? _replies;

    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true)]
    [ValidateNotNull]
    public RpcStream Stream { get; set; } = null!;

    [Parameter(Position = 1)]
    [ValidateRange(1, int.MaxValue)]
    public int Count { get; set; } = int.MaxValue;

    [Parameter]
    [Deadline(AllowZero = true)]
    public TimeSpan Timeout { get; set; } = System.Threading.Timeout.InfiniteTimeSpan;

    [Parameter]
    public SwitchParameter AsHashtable { get; set; }

    [Parameter]
    public SwitchParameter Raw { get; set; }

    // Without -Count, all replies are received until the end.
    private bool HasCount => MyInvocation.BoundParameters.ContainsKey(nameof(Count));

    protected override void Process() => Guard(Stream, () =>
    {
        StreamConversation talk = Stream.Talk;
        Report(talk, () => Receive(talk));
    });

    private void Receive(StreamConversation talk)
    {
        _replies ??= new ReplyObjects(AsHashtable, Raw);
        for (int left = Count; left > 0; left -= HasCount ? 1 : 0)
        {
            if (!talk.TryReceive(Wait(Timeout), out DynamicMessage? reply))
            {
                return;
            }

            WriteObject(_replies.ToObject(reply, talk.Endpoint, WriteWarning));
        }
    }
}

using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Connections;

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
    public Guid[] SessionId { get; set; } = [];

    protected override void Process()
    {
        IEnumerable<RpcListener> listeners =
            MyInvocation.BoundParameters.ContainsKey(nameof(Listener))
                ? Listener
                : RunspaceStore.Current.Listeners;
        WriteObject(
            listeners.SelectMany(RpcSessionInfo.GetSessions)
                .Where(session => SessionId.Length == 0 || SessionId.Contains(session.Id)),
            enumerateCollection: true);
    }
}

[Cmdlet(VerbsCommon.Remove, "RpcSession", SupportsShouldProcess = true)]
public sealed class RemoveRpcSessionCommand : RpcCmdlet
{
    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true)]
    public RpcSessionInfo[] Session { get; set; } = [];

    protected override void Process()
    {
        foreach (RpcSessionInfo session in Session)
        {
            // A session that has already expired is not an error.
            if (ShouldProcess(session.ToString(), "End the session"))
            {
                session.Listener.RemoveSession(session.Id);
            }
        }
    }
}

/// <summary>Offers the ids of the sessions that the listeners of this runspace keep.</summary>
internal sealed class SessionIdCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => RunspaceStore.Current.Listeners
        .SelectMany(RpcSessionInfo.GetSessions)
        .Select(session => new Candidate(session.Id.ToString(), session.ToString()));
}

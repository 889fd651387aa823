using System.Collections;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

/// <summary>Offers the ids of the sessions that the listeners of this runspace keep.</summary>
public sealed class SessionIdCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => RunspaceStore.Current.Listeners
        .SelectMany(RpcSessionInfo.Of)
        .Select(session => new Candidate(session.Id.ToString(), session.ToString()));
}

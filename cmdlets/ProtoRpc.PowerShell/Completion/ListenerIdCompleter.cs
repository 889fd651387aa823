using System.Collections;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

/// <summary>Offers the ids of the listeners of this runspace.</summary>
public sealed class ListenerIdCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
        RunspaceStore.Current.Listeners.Select(listener => OfId(listener.Id, listener.ToString()));
}

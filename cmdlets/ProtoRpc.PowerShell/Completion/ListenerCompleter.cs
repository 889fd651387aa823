using System.Collections;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

/// <summary>Offers the listeners of this runspace.</summary>
public sealed class ListenerCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
        RunspaceStore.Current.Listeners.Select(listener => Candidate.OfScript(
            $"(Get-RpcListener {listener.Id})", listener.ToString()));
}

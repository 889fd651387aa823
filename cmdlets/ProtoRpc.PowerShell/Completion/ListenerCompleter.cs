using System.Collections;

namespace ProtoRpc.PowerShell;

/// <summary>Offers the listeners of this runspace.</summary>
public sealed class ListenerCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
        RunspaceStore.Current.Listeners.Select(listener => Candidate.OfScript(
            $"(Get-RpcListener {listener.Id})", listener.ToString()));
}

using System.Collections;

namespace ProtoRpc.PowerShell;

/// <summary>Offers the listeners of this runspace.</summary>
public sealed class ListenerCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
        RunspaceStore.Current.Listeners.Select(listener => new Candidate(
            $"(Get-RpcListener {listener.Id})", listener.ToString(), IsScript: true));
}

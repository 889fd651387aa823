using System.Collections;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

/// <summary>Offers the mocks of this runspace.</summary>
public sealed class MockCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
        RunspaceStore.Current.Listeners.OfType<RpcMockListener>().Select(mock => Candidate.OfScript(
            $"(Get-RpcListener {mock.Id})", mock.ToString()));
}

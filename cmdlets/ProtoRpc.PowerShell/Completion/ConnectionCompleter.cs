using System.Collections;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

/// <summary>Offers the open connections of this runspace.</summary>
public sealed class ConnectionCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
        RunspaceStore.Current.Connections.Select(connection => Candidate.OfScript(
            $"(Get-RpcConnection {connection.Id})", $"{connection.Endpoint} {connection.Service}"));
}

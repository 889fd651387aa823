using System.Collections;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

/// <summary>Offers the ids of the open connections of this runspace.</summary>
public sealed class ConnectionIdCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
        RunspaceStore.Current.Connections.Select(
            connection => OfId(connection.Id, $"{connection.Endpoint} {connection.Service}"));
}

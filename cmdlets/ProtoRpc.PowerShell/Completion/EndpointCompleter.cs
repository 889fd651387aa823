using System.Collections;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

/// <summary>Offers registered names, the endpoints of this runspace's listeners and connections,
/// and the forms of endpoints.</summary>
public sealed class EndpointCompleter : RpcCompleter
{
    private static readonly Candidate[] Forms =
    [
        .. EndpointKinds.All.Select(kind => new Candidate(kind.ExampleBinding(HostOf(kind)), kind.Hint)),
    ];

    internal override IEnumerable<Candidate> Candidates(IDictionary bound)
    {
        RunspaceStore store = RunspaceStore.Current;
        return EndpointNameCompleter.Names().Concat(store.Listeners.SelectMany(listener => listener.Endpoint)
            .Concat(store.Connections.Select(connection => connection.Endpoint))
            .Distinct()
            .Select(endpoint => new Candidate(endpoint.ToString(), endpoint.Uri)))
            .Concat(Forms);
    }

    private static string HostOf(EndpointKindAttribute kind) =>
        kind.Has(EndpointFeatures.Tls) ? "HOST"
        : kind.Has(EndpointFeatures.AspNetCore) ? "localhost"
        : "127.0.0.1";
}

using System.Collections;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

/// <summary>Offers the interface ids of the schema's services and of the session's listeners. The word may
/// also match the name of a service.</summary>
public sealed class InterfaceIdCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => SchemasOf(bound)
        .SelectMany(schema => schema.Services)
        .Select(service => new Candidate($"{service.InterfaceId}", service.FullName, service.Name))
        .Concat(RunspaceStore.Current.Listeners.SelectMany(listener => listener.InterfaceId
            .Select(id => new Candidate($"{id}", $"listener {listener.Id}"))))
        .DistinctBy(candidate => candidate.Name);
}

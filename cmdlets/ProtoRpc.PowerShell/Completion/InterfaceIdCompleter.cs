using System.Collections;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

/// <summary>Offers interface ids: of the services of the schema, found by their names as well, and of the
/// listeners of this session.</summary>
public sealed class InterfaceIdCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => SchemasOf(bound)
        .SelectMany(schema => schema.Services)
        .Select(service => new Candidate($"{service.InterfaceId}", service.FullName, service.Name))
        .Concat(RunspaceStore.Current.Listeners.SelectMany(listener => listener.InterfaceId
            .Select(id => new Candidate($"{id}", $"listener {listener.Id}"))))
        .DistinctBy(candidate => candidate.Name);
}

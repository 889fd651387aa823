using System.Collections;

namespace ProtoRpc;

/// <summary>Offers services.</summary>
public sealed class ServiceCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => SchemasOf(bound)
        .SelectMany(schema => schema.Services)
        .Select(service => new Candidate(
            service.FullName, service.Comment.Length > 0 ? service.Comment : service.FullName, service.Name));
}

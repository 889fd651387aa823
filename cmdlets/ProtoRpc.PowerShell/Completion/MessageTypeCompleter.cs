using System.Collections;

namespace ProtoRpc;

/// <summary>Offers message types.</summary>
public sealed class MessageTypeCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => SchemasOf(bound)
        .SelectMany(schema => schema.Messages)
        .Select(type => new Candidate(
            type.FullName, type.Comment.Length > 0 ? type.Comment : type.FullName, type.Name));
}

using System.Collections;

namespace ProtoRpc.PowerShell.Completion;

/// <summary>Offers the tags of registered endpoints.</summary>
internal sealed class TagCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
        RpcEndpointRegistry.OfUser.Read()
            .SelectMany(endpoint => endpoint.Tag.Select(tag => (Tag: tag, endpoint.Name)))
            .GroupBy(pair => pair.Tag, pair => pair.Name, StringComparer.OrdinalIgnoreCase)
            .Select(tag => new Candidate(tag.Key, string.Join(", ", tag)));
}

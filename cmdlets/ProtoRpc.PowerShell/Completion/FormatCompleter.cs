using System.Collections;

namespace ProtoRpc;

/// <summary>Offers the formats of messages.</summary>
public sealed class FormatCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => MessageFormats.All
        .Select(format => new Candidate(format.Name, format.MediaTypes[0]));
}

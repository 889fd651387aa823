using System.Collections;

namespace ProtoRpc;

/// <summary>Offers the formats of messages that HTTP endpoints accept.</summary>
public sealed class HttpFormatCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => MessageFormats.OfHttp
        .Select(format => new Candidate(format.Name, format.MediaTypes[0]));
}

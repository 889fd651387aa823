using System.Collections;
using ProtoRpc.Gateway;

namespace ProtoRpc.PowerShell.Completion;

/// <summary>Offers names of headers for a gateway, with the default treatment of each.</summary>
internal sealed class HeaderNameCompleter : RpcCompleter
{
    // The gateway forwards these by default, so listing them only makes sense for blocking.
    private static readonly string[] Passing = ["traceparent", "tracestate", "baggage", "x-request-id"];

    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => HeaderRule.OfOthers
        .Order(StringComparer.Ordinal)
        .Select(name => new Candidate(name, "is not forwarded unless -ForwardHeader names it"))
        .Concat(Passing.Select(name => new Candidate(name, "is forwarded unless -BlockHeader names it")));
}

using System.Collections;

namespace ProtoRpc.PowerShell.Completion;

/// <summary>Offers the forms of the origins of web pages.</summary>
internal sealed class OriginCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
    [
        new Candidate("https://app.example.com", "The pages of a site; write your own"),
        new Candidate("*", "All pages"),
    ];
}

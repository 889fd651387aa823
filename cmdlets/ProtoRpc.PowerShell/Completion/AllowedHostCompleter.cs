using System.Collections;

namespace ProtoRpc.PowerShell.Completion;

/// <summary>Offers names by which a listener can be called.</summary>
internal sealed class AllowedHostCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
    [
        new Candidate(Environment.MachineName.ToLowerInvariant(), "This machine"),
        new Candidate("*", "Every name"),
    ];
}

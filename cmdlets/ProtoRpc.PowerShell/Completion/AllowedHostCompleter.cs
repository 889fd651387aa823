using System.Collections;

namespace ProtoRpc.PowerShell.Completion;

/// <summary>Offers host names that clients can use to call a listener.</summary>
internal sealed class AllowedHostCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
    [
        new Candidate(Environment.MachineName.ToLowerInvariant(), "This machine"),
        new Candidate("*", "Every name"),
    ];
}

using System.Collections;

namespace ProtoRpc;

/// <summary>Offers methods, for their requests, and message types.</summary>
public sealed class MessageOrMethodCompleter : RpcCompleter
{
    private readonly MethodCompleter _methods = new();
    private readonly MessageTypeCompleter _types = new();

    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
        _methods.Candidates(bound).Concat(_types.Candidates(bound));
}

using System.Collections;
using ProtoRpc.Messages;
using ProtoRpc.PowerShell.Completion;

namespace ProtoRpc;

/// <summary>Offers headers of requests: those that the options of the services name, and the well-known
/// ones.</summary>
public sealed class HeaderCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound)
    {
        HeaderShape shape = HeaderShape.Of(SchemasOf(bound));
        return shape.Keys([]).Select(key => Candidate.OfScript(
            ScriptLiteral.Table(
                [KeyValuePair.Create<object, string>(key.Name, ScriptLiteral.Of(shape.First(key.Name)))]),
            key.Comment, key.Name));
    }

    internal override TableShape? TableOf(IDictionary bound) => HeaderShape.Of(SchemasOf(bound));
}

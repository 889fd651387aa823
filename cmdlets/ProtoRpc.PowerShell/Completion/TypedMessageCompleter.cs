using System.Collections;
using ProtoRpc.Messages;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc;

/// <summary>Offers a whole message of the given type as a hashtable, ready to be filled in.</summary>
public sealed class TypedMessageCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => Types(bound)
        .Select(type => Candidate.OfScript(
            ScriptLiteral.Of(ShellMapper.Create(asHashtable: true).Template(type)), type.FullName));

    internal override TableShape? TableOf(IDictionary bound) => TableShape.OfMessage(Types(bound));

    private static IEnumerable<RpcMessageInfo> Types(IDictionary bound) =>
        Unwrap(bound["Type"]) is string name
            ? SchemasOf(bound)
                .SelectMany(schema => schema.Messages)
                .Where(type => name.Equals(type.FullName, StringComparison.OrdinalIgnoreCase)
                    || name.Equals(type.Name, StringComparison.OrdinalIgnoreCase))
            : [];
}

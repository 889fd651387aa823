using System.Collections;
using ProtoRpc.Messages;
using ProtoRpc.PowerShell.Completion;

namespace ProtoRpc;

/// <summary>Offers a rule for each service that allows all authenticated callers.</summary>
public sealed class AuthorizationCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => SchemasOf(bound)
        .Where(schema => schema.Services.Count > 0)
        .Select(schema => Candidate.OfScript(
            ScriptLiteral.Table(schema.Services.Select(service => KeyValuePair.Create<object, string>(
                $"{service.FullName}/*", ScriptLiteral.Of("*")))),
            "Each service for authenticated callers"));

    internal override TableShape? TableOf(IDictionary bound) =>
        TableShape.OfRules(SchemasOf(bound).SelectMany(schema => schema.Services));
}

using System.Collections;
using ProtoRpc.Messages;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc;

/// <summary>Offers the extensions of the request header that the schema declares.</summary>
public sealed class ExtensionCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound)
    {
        IReadOnlyList<RpcFieldInfo> fields = FieldsOf(bound);
        if (fields.Count > 0)
        {
            yield return Candidate.OfScript(
                ScriptLiteral.Table(fields.Select(field => KeyValuePair.Create<object, string>(
                    field.Name, TableCompletion.ScriptOf(field)))),
                "The extensions of the request header");
        }
    }

    internal override TableShape? TableOf(IDictionary bound) => TableShape.OfFields(FieldsOf(bound));

    private static IReadOnlyList<RpcFieldInfo> FieldsOf(IDictionary bound) =>
        [.. SchemasOf(bound).SelectMany(HeaderExtensionMap.OfRequests).DistinctBy(field => field.Name)];
}

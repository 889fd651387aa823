using System.Collections;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc;

/// <summary>Offers the method's whole request as a hashtable, ready to be filled in.</summary>
public sealed class MessageCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound)
    {
        if (Unwrap(bound["Method"]) is not string name)
        {
            return [];
        }

        return SchemasOf(bound)
            .SelectMany(schema => schema.Services)
            .SelectMany(service => service.Methods)
            .Where(method => name.Equals(method.Name, StringComparison.OrdinalIgnoreCase)
                || name.Equals(method.FullName, StringComparison.OrdinalIgnoreCase))
            .Select(method => Candidate.OfScript(
                ScriptLiteral.Of(ShellMapper.Create(asHashtable: true).Template(method.RequestType)),
                method.RequestType.FullName));
    }
}

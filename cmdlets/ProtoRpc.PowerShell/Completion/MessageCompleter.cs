using System.Collections;
using ProtoRpc.Messages;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc;

/// <summary>Offers the method's whole request as a hashtable, ready to be filled in.</summary>
public sealed class MessageCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => RequestTypes(bound)
        .Select(type => Candidate.OfScript(
            ScriptLiteral.Of(ShellMapper.Create(asHashtable: true).Template(type)), type.FullName));

    internal override TableShape? TableOf(IDictionary bound) => TableShape.OfMessage(RequestTypes(bound));

    /// <summary>The types of the requests of all methods of a name.</summary>
    internal static IEnumerable<RpcMessageInfo> RequestTypes(IEnumerable<RpcSchema> schemas, string name) =>
        schemas
            .SelectMany(schema => schema.Services)
            .SelectMany(service => service.Methods)
            .Where(method => IsNamed(method, name.TrimStart('/', '.')))
            .Select(method => method.RequestType);

    private static IEnumerable<RpcMessageInfo> RequestTypes(IDictionary bound) =>
        Unwrap(bound["Method"]) is string name ? RequestTypes(SchemasOf(bound), name) : [];

    private static bool IsNamed(RpcMethodInfo method, string name) =>
        name.Equals(method.Name, StringComparison.OrdinalIgnoreCase)
        || name.Equals(method.FullName, StringComparison.OrdinalIgnoreCase)
        || name.Equals($"{method.Service.Name}/{method.Name}", StringComparison.OrdinalIgnoreCase)
        || name.Equals($"{method.Service.FullName}.{method.Name}", StringComparison.OrdinalIgnoreCase);
}

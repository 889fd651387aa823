using System.Collections;
using ProtoRpc.Messages;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc;

/// <summary>Offers a whole message as a hashtable, ready to be filled in: one of the given type, or the
/// method's request.</summary>
public sealed class MessageCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => Types(bound)
        .Select(type => Candidate.OfScript(
            ScriptLiteral.Of(ShellMapper.Create(asHashtable: true).Template(type)), type.FullName));

    internal override TableShape? TableOf(IDictionary bound) => TableShape.OfMessage(Types(bound));

    /// <summary>The request types of all methods with a name.</summary>
    internal static IEnumerable<RpcMessageInfo> RequestTypes(IEnumerable<RpcSchema> schemas, string name) =>
        schemas
            .SelectMany(schema => schema.Services)
            .SelectMany(service => service.Methods)
            .Where(method => IsNamed(method, name.TrimStart('/', '.')))
            .Select(method => method.RequestType);

    private static IEnumerable<RpcMessageInfo> Types(IDictionary bound) =>
        Unwrap(bound["Type"]) is string type
            ? SchemasOf(bound)
                .SelectMany(schema => schema.Messages)
                .Where(message => type.Equals(message.FullName, StringComparison.OrdinalIgnoreCase)
                    || type.Equals(message.Name, StringComparison.OrdinalIgnoreCase))
            : Unwrap(bound["Method"]) is string name ? RequestTypes(SchemasOf(bound), name) : [];

    private static bool IsNamed(RpcMethodInfo method, string name) =>
        name.Equals(method.Name, StringComparison.OrdinalIgnoreCase)
        || name.Equals(method.FullName, StringComparison.OrdinalIgnoreCase)
        || name.Equals($"{method.Service.Name}/{method.Name}", StringComparison.OrdinalIgnoreCase)
        || name.Equals($"{method.Service.FullName}.{method.Name}", StringComparison.OrdinalIgnoreCase);
}

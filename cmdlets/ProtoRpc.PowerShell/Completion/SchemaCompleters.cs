using ProtoRpc.Messages;
using ProtoRpc.PowerShell.Connections;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc.PowerShell.Completion;

/// <summary>Offers services.</summary>
internal sealed class ServiceCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => SchemasOf(bound)
        .SelectMany(schema => schema.Services)
        .Select(service => new Candidate(
            service.FullName, service.Comment.Length > 0 ? service.Comment : service.FullName, service.Name));
}

/// <summary>Offers methods: bare names if they are unique, otherwise full names.</summary>
internal sealed class MethodCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound)
    {
        List<RpcMethodInfo> methods = [.. SchemasOf(bound)
            .SelectMany(schema => schema.Services)
            .SelectMany(service => service.Methods)];
        HashSet<string> unique = [.. methods.CountBy(method => method.Name)
            .Where(count => count.Value == 1)
            .Select(count => count.Key)];
        return methods
            .Where(method => unique.Contains(method.Name))
            .Select(method => new Candidate(method.Name, ToolTip(method)))
            .Concat(methods.Select(method => new Candidate(
                method.FullName, ToolTip(method), unique.Contains(method.Name) ? null : method.Name)));
    }

    internal static string ToolTip(RpcMethodInfo method) =>
        $"{method.Service.FullName}/{method.Signature}"
        + (method.Comment.Length > 0 ? $"{Environment.NewLine}{method.Comment}" : "");
}

/// <summary>Offers a whole message as a hashtable, ready to be filled in: one of the given type, or the
/// method's request.</summary>
internal sealed class MessageCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => Types(bound)
        .Select(type => Candidate.OfScript(
            ScriptLiteral.Format(ShellMapper.Create(asHashtable: true).Template(type)), type.FullName));

    internal override HashtableShape? TableOf(IDictionary bound) => HashtableShape.OfMessage(Types(bound));

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
            : Unwrap(bound["Stream"]) is RpcStream { MethodInfo: { } method } ? [method.RequestType]
            : Unwrap(bound["Method"]) is string name ? RequestTypes(SchemasOf(bound), name) : [];

    private static bool IsNamed(RpcMethodInfo method, string name) =>
        name.Equals(method.Name, StringComparison.OrdinalIgnoreCase)
        || name.Equals(method.FullName, StringComparison.OrdinalIgnoreCase)
        || name.Equals($"{method.Service.Name}/{method.Name}", StringComparison.OrdinalIgnoreCase)
        || name.Equals($"{method.Service.FullName}.{method.Name}", StringComparison.OrdinalIgnoreCase);
}

/// <summary>Offers message types.</summary>
internal sealed class MessageTypeCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => SchemasOf(bound)
        .SelectMany(schema => schema.Messages)
        .Select(type => new Candidate(
            type.FullName, type.Comment.Length > 0 ? type.Comment : type.FullName, type.Name));
}

/// <summary>Offers the interface ids of the schema's services and of the session's listeners. The word may
/// also match the name of a service.</summary>
internal sealed class InterfaceIdCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => SchemasOf(bound)
        .SelectMany(schema => schema.Services)
        .Select(service => new Candidate($"{service.InterfaceId}", service.FullName, service.Name))
        .Concat(RunspaceStore.Current.Listeners.SelectMany(listener => listener.InterfaceId
            .Select(id => new Candidate($"{id}", $"listener {listener.Id}"))))
        .DistinctBy(candidate => candidate.Name);
}

/// <summary>Offers a hashtable with an empty handler for each method of the services.</summary>
internal sealed class HandlerCompleter : RpcCompleter
{
    private const string Handler = "{ param($Request) @{} }";

    internal override IEnumerable<Candidate> Candidates(IDictionary bound)
    {
        foreach (List<RpcServiceInfo> services in
            SchemasOf(bound).Select(schema => ServicesOf(schema, bound)))
        {
            bool bare = services.Count == 1;
            yield return Candidate.OfScript(
                ScriptLiteral.Table(services.SelectMany(service => service.Methods).Select(method =>
                    KeyValuePair.Create<object, string>(bare ? method.Name : method.FullName, Handler))),
                "A handler for each method");
        }
    }

    internal override HashtableShape? TableOf(IDictionary bound) =>
        HashtableShape.OfReplies(SchemasOf(bound).SelectMany(schema => ServicesOf(schema, bound)));

    private static List<RpcServiceInfo> ServicesOf(RpcSchema schema, IDictionary bound)
    {
        string[] wanted = Unwrap(bound["Service"]) switch
        {
            null => [],
            string one => [one],
            IEnumerable several => [.. several.Cast<object>().Select(name => $"{name}")],
            object other => [$"{other}"],
        };
        return
        [
            .. schema.Services.Where(service =>
                wanted.Length == 0 || wanted.Contains(service.FullName) || wanted.Contains(service.Name)),
        ];
    }
}

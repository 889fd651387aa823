using System.Collections;
using ProtoRpc.Messages;
using ProtoRpc.PowerShell.Connections;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.Protocols.Native;

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
            : Unwrap(bound["Method"]) is string name ? RequestTypes(SchemasOf(bound), name) : [];

    private static bool IsNamed(RpcMethodInfo method, string name) =>
        name.Equals(method.Name, StringComparison.OrdinalIgnoreCase)
        || name.Equals(method.FullName, StringComparison.OrdinalIgnoreCase)
        || name.Equals($"{method.Service.Name}/{method.Name}", StringComparison.OrdinalIgnoreCase)
        || name.Equals($"{method.Service.FullName}.{method.Name}", StringComparison.OrdinalIgnoreCase);
}

/// <summary>Offers methods, for their requests, and message types.</summary>
internal sealed class MessageOrMethodCompleter : RpcCompleter
{
    private readonly MethodCompleter _methods = new();
    private readonly MessageTypeCompleter _types = new();

    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
        _methods.Candidates(bound).Concat(_types.Candidates(bound));
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

/// <summary>Offers the names of the fields in messages of the services, nested ones included.</summary>
internal sealed class FieldNameCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound)
    {
        Queue<RpcMessageInfo> waiting = new(SchemasOf(bound)
            .SelectMany(schema => schema.Services)
            .SelectMany(service => service.Methods)
            .SelectMany(method => new[] { method.RequestType, method.ReplyType }));
        HashSet<RpcMessageInfo> seen = [.. waiting];
        HashSet<string> names = [];
        while (waiting.TryDequeue(out RpcMessageInfo? type))
        {
            foreach (RpcFieldInfo field in type.Fields)
            {
                if (!type.IsMapEntry && names.Add(field.Name))
                {
                    yield return new Candidate(field.Name, $"{field.TypeName} of {type.FullName}");
                }

                if (field.MessageType is { } nested && seen.Add(nested))
                {
                    waiting.Enqueue(nested);
                }
            }
        }
    }
}

/// <summary>Offers the extensions of the request header that the schema declares.</summary>
internal sealed class ExtensionCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound)
    {
        IReadOnlyList<RpcFieldInfo> fields = FieldsOf(bound);
        if (fields.Count > 0)
        {
            yield return Candidate.OfScript(
                ScriptLiteral.Table(fields.Select(field => KeyValuePair.Create<object, string>(
                    field.Name, HashtableCompletion.ScriptOf(field)))),
                "The extensions of the request header");
        }
    }

    internal override HashtableShape? TableOf(IDictionary bound) => HashtableShape.OfFields(FieldsOf(bound));

    private static IReadOnlyList<RpcFieldInfo> FieldsOf(IDictionary bound) =>
        [.. SchemasOf(bound).SelectMany(HeaderExtensionMap.OfRequests).DistinctBy(field => field.Name)];
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

/// <summary>Offers the request of a ping, with the extensions that the schema declares.</summary>
internal sealed class PingMessageCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => Types(bound)
        .Select(type => Candidate.OfScript(
            ScriptLiteral.Format(ShellMapper.Create(asHashtable: true).Template(type)), type.FullName));

    internal override HashtableShape? TableOf(IDictionary bound) => HashtableShape.OfMessage(Types(bound));

    private static IEnumerable<RpcMessageInfo> Types(IDictionary bound) => SchemasOf(bound)
        .Cast<RpcSchema?>()
        .DefaultIfEmpty(null)
        .Select(schema => PingProtocol.InfoIn(schema).RequestType);
}

/// <summary>Offers the formats of messages that HTTP endpoints accept.</summary>
internal sealed class HttpFormatCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => MessageFormats.OfHttp
        .Select(format => new Candidate(format.Name, format.MediaTypes[0]));
}

/// <summary>Offers a rule for each service that allows all authenticated callers.</summary>
internal sealed class AuthorizationCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => SchemasOf(bound)
        .Where(schema => schema.Services.Count > 0)
        .Select(schema => Candidate.OfScript(
            ScriptLiteral.Table(schema.Services.Select(service => KeyValuePair.Create<object, string>(
                $"{service.FullName}/*", ScriptLiteral.Format("*")))),
            "Each service for authenticated callers"));

    internal override HashtableShape? TableOf(IDictionary bound) =>
        HashtableShape.OfRules(SchemasOf(bound).SelectMany(schema => schema.Services));
}

using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema.Linking;

/// <summary>The files that a server sent, and their errors.</summary>
/// <param name="Files">The files; each has its own name.</param>
/// <param name="Services">The services that the server lists. The value is the reason why the server did not
/// send the file of a service; empty for services with a file.</param>
/// <param name="Server">The server, for warnings.</param>
internal sealed record ServerFiles(
    IReadOnlyList<DescriptorFile> Files, IReadOnlyDictionary<string, string> Services, string Server)
{
    /// <summary>Warnings about files that were omitted while reading.</summary>
    public IReadOnlyList<string> Warnings { get; init; } = [];

    /// <summary>The files of other sources that were loaded explicitly. The services of the schema are then
    /// not only those of the server.</summary>
    public IReadOnlyList<string> RootFiles { get; init; } = [];

    /// <summary>Merges the files of a schema and those of another one for its services. Declarations in both
    /// are taken from the first one.</summary>
    /// <param name="schema">The schema.</param>
    /// <param name="other">The other schema. One of the two has gaps.</param>
    /// <param name="label">The prefix for the name of a file of the other schema, if the first one has a
    /// different file of the same name.</param>
    public static ServerFiles Merge(RpcSchema schema, RpcSchema other, string label)
    {
        ServerFiles first = schema.Gaps?.Source
            ?? new ServerFiles(FilesOf(schema), NoServices, "") { RootFiles = schema.RootFiles };
        ServerFiles second = other.Gaps?.Source ?? new ServerFiles(
            FilesOf(other),
            other.ServedServices.ToDictionary(service => service.FullName, _ => "", StringComparer.Ordinal),
            "")
        {
            Warnings = other.Warnings,
        };
        DescriptorFileMerge merge = new();
        merge.Add(first.Files, first.RootFiles, label);
        merge.Add(second.Files, second.RootFiles, label);
        return Merge(merge, [first, second], []);
    }

    /// <summary>The merged files of servers and other sources.</summary>
    /// <param name="merge">The files.</param>
    /// <param name="servers">The files of the servers.</param>
    /// <param name="warnings">The warnings of the other sources.</param>
    public static ServerFiles Merge(
        DescriptorFileMerge merge, IReadOnlyList<ServerFiles> servers, IReadOnlyList<string> warnings)
    {
        Dictionary<string, string> services = new(StringComparer.Ordinal);
        foreach ((string name, string problem) in servers.SelectMany(server => server.Services))
        {
            services.TryAdd(name, problem);
        }

        return new ServerFiles(
            merge.Files, services,
            string.Join(
                ", ",
                servers.Select(server => server.Server).Where(name => name.Length > 0)
                    .Distinct(StringComparer.Ordinal)))
        {
            Warnings = [.. warnings.Concat(servers.SelectMany(server => server.Warnings)).Distinct()],
            RootFiles = merge.RootFiles,
        };
    }

    private static IReadOnlyDictionary<string, string> NoServices { get; } =
        new Dictionary<string, string>(StringComparer.Ordinal);

    private static DescriptorFile[] FilesOf(RpcSchema schema) =>
        [.. schema.SchemaFiles.Select(file => new DescriptorFile(file.Bytes, file.Proto, $"'{file.Name}'"))];
}

/// <summary>The parts of a schema that a server did not send. The schema has empty messages, enums and
/// services instead, so that all others can be used.</summary>
internal sealed class SchemaGaps(
    ServerFiles source, IReadOnlyDictionary<string, string> types,
    IReadOnlyDictionary<string, string> services)
{
    private const int ShownMethods = 5;
    private const int ShownServices = 20;

    private readonly Lock _gate = new();
    private Dictionary<string, string>? _incomplete;
    private string[]? _warnings;

    /// <summary>The files that the server sent, for linking them again with other files.</summary>
    public ServerFiles Source => source;

    /// <summary>Whether a message or enum is an empty substitute for one that the server did not
    /// send.</summary>
    public bool HasPlaceholder(string fullName) => types.ContainsKey(fullName);

    /// <summary>Why the description of a service cannot be used; null if it can.</summary>
    public string? ProblemOf(RpcServiceInfo service) => services.GetValueOrDefault(service.FullName);

    /// <summary>Why a method cannot be called; null if it can.</summary>
    public string? ProblemOf(RpcMethodInfo method)
    {
        if (types.Count == 0)
        {
            return null;
        }

        Dictionary<string, string> incomplete;
        lock (_gate)
        {
            incomplete = _incomplete ??= FindIncomplete(method.Service.Schema);
        }

        return incomplete.GetValueOrDefault(method.RequestType.FullName)
            ?? incomplete.GetValueOrDefault(method.ReplyType.FullName);
    }

    /// <summary>A line for each service without description, and for each reason why methods cannot be
    /// called.</summary>
    /// <param name="schema">The schema that has these gaps.</param>
    public IReadOnlyList<string> Warn(RpcSchema schema) =>
        _warnings ??= [.. Describe(schema).Select(TerminalText.Neutralize)];

    private IEnumerable<string> Describe(RpcSchema schema)
    {
        foreach ((string service, string problem) in services.Take(ShownServices))
        {
            yield return $"{source.Server} lists {service}, but does not describe it: {problem}";
        }

        if (services.Count > ShownServices)
        {
            yield return
                $"{source.Server} does not describe {services.Count - ShownServices:N0} more services.";
        }

        foreach (IGrouping<string, RpcMethodInfo> methods in schema.Services
            .SelectMany(service => service.Methods)
            .Where(method => ProblemOf(method) is not null)
            .GroupBy(method => ProblemOf(method)!, StringComparer.Ordinal))
        {
            int more = methods.Count() - ShownMethods;
            yield return $"{source.Server}: {methods.Key} These methods cannot be called: "
                + string.Join(", ", methods.Take(ShownMethods).Select(method => method.FullName))
                + (more > 0 ? $" and {more:N0} more." : ".");
        }
    }

    // The messages that have a missing type somewhere inside. Looks at each field once.
    private Dictionary<string, string> FindIncomplete(RpcSchema schema)
    {
        Dictionary<string, List<string>> containing = new(StringComparer.Ordinal);
        Stack<MessageDescriptor> unread = new(schema.Files.SelectMany(file => file.MessageTypes));
        while (unread.TryPop(out MessageDescriptor? message))
        {
            foreach (FieldDescriptor field in message.Fields.InDeclarationOrder())
            {
                string? type = field.FieldType switch
                {
                    FieldType.Message or FieldType.Group => field.MessageType.FullName,
                    FieldType.Enum => field.EnumType.FullName,
                    _ => null,
                };
                if (type is not null)
                {
                    if (!containing.TryGetValue(type, out List<string>? messages))
                    {
                        containing.Add(type, messages = []);
                    }

                    messages.Add(message.FullName);
                }
            }

            foreach (MessageDescriptor nested in message.NestedTypes)
            {
                unread.Push(nested);
            }
        }

        Dictionary<string, string> incomplete = new(types, StringComparer.Ordinal);
        Queue<string> found = new(types.Keys);
        while (found.TryDequeue(out string? type))
        {
            foreach (string message in containing.GetValueOrDefault(type) ?? [])
            {
                if (incomplete.TryAdd(message, incomplete[type]))
                {
                    found.Enqueue(message);
                }
            }
        }

        return incomplete;
    }
}

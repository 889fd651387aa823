using Google.Protobuf.Reflection;
using ProtoRpc.Schema.Sources;

namespace ProtoRpc.Tool.Verbs;

/// <summary><c>protorpc list</c>: the services of a server or a schema, with their methods.</summary>
internal static class ListVerb
{
    public static Command Create(ToolConsole console)
    {
        Command command = new("list", "Lists the services and methods of a server or a schema.");
        SymbolArguments arguments = new(command);
        ToolFlag names = new(
            "--names",
            "Writes full names alone, one a line: of services, or of the methods of those that are "
            + "named.");
        command.Add(names);

        command.SetAction(async (parsed, cancellation) =>
        {
            (ToolTarget? target, string[] symbols) = arguments.Split(parsed, console);
            IEnumerable<string> lines =
                target is not null && IsSilent(target.Endpoint) && !HasSchema(arguments, parsed, target)
                ? await PingAsync(arguments, parsed, target, symbols, console, cancellation)
                : Lines(
                    await arguments.ReadAsync(parsed, console, cancellation), parsed.GetValue(names));
            int count = 0;
            foreach (string line in lines)
            {
                console.WriteLine(TerminalText.Neutralize(line));
                count++;
            }

            if (count == 0)
            {
                console.WriteLine("(no services)");
            }

            return ExitCode.Success;
        });
        return command;
    }

    private static bool HasSchema(SymbolArguments arguments, ParseResult parsed, ToolTarget target) =>
        arguments.HasSchema(parsed) || target.Named is { Schema.Count: > 0 };

    // Servers without reflection may still reply to a ping with the names of their services.
    private static bool IsSilent(RpcEndpoint endpoint) =>
        !endpoint.Has(EndpointFeatures.Reflection)
        && !(endpoint.IsHttp
            && endpoint.Uri.TrimEnd('/').EndsWith(".proto", StringComparison.OrdinalIgnoreCase));

    private static async Task<IEnumerable<string>> PingAsync(
        SymbolArguments arguments, ParseResult parsed, ToolTarget target, string[] symbols,
        ToolConsole console, CancellationToken cancellation)
    {
        if (symbols.Length > 0)
        {
            throw new UsageException(
                $"'{target.Endpoint}' reports only the names of its services. Give the .proto files with "
                + "--schema SOURCE to see methods.");
        }

        RpcClientOptions options = arguments.ClientOptions(parsed, target, console);
        RpcPingResult result = await CallFailedException.GuardAsync(
            async () =>
            {
                await using RpcClient client =
                    await RpcClient.ConnectAsync(target.Endpoint, options, cancellation);
                return await client.PingAsync(cancellationToken: cancellation);
            },
            cancellation);
        return result is { Services.Count: 0, IsProtoRpc: false }
            ? throw new RpcException(
                RpcStatusCode.Unimplemented, RpcErrorIds.NoSchema,
                $"The server at '{target.Endpoint}' answers, but does not list its services: it is not a "
                + "server of ProtoRpc. Give the .proto files of its services with --schema SOURCE.",
                target.Endpoint)
            : result.Services;
    }

    private static IEnumerable<string> Lines((RpcSchema Schema, string[] Symbols) asked, bool namesAlone)
    {
        IEnumerable<RpcServiceInfo> services = asked.Symbols.Length == 0
            ? asked.Schema.ServedServices
            : asked.Symbols.Select(asked.Schema.GetService);
        foreach (RpcServiceInfo service in services)
        {
            if (!namesAlone || asked.Symbols.Length == 0)
            {
                yield return service.FullName;
            }

            if (!namesAlone)
            {
                if (service.Problem is { } problem)
                {
                    yield return $"  // {problem}";
                }

                foreach (RpcMethodInfo method in service.Methods)
                {
                    yield return $"  rpc {method.Signature};";
                }
            }
            else if (asked.Symbols.Length > 0)
            {
                foreach (RpcMethodInfo method in service.Methods)
                {
                    yield return method.FullName;
                }
            }
        }
    }
}

/// <summary><c>protorpc describe</c>: a service, method, message or enum as text like a .proto.</summary>
internal static class DescribeVerb
{
    public static Command Create(ToolConsole console)
    {
        Command command = new("describe", "Describes a service, method, message or enum.");
        ToolFlag template = new(
            "--template",
            "Writes a JSON message to fill in: of each message that is named, or of the request of each "
            + "method.",
            "--msg-template");
        command.Add(template);
        SymbolArguments arguments = new(command);

        command.SetAction(async (parsed, cancellation) =>
        {
            (RpcSchema schema, string[] names) = await arguments.ReadAsync(parsed, console, cancellation);
            IEnumerable<string> texts = parsed.GetValue(template) ? Templates(schema, names)
                : names.Length > 0 ? names.Select(name => Describe(SchemaSymbols.Find(schema, name)))
                : schema.RootFiles.Select(schema.ToProtoText);
            console.WriteLine(
                TerminalText.Neutralize(string.Join("\n\n", texts.Select(text => text.TrimEnd()))));
            return ExitCode.Success;
        });
        return command;
    }

    private static IEnumerable<string> Templates(RpcSchema schema, string[] names) => names.Length == 0
        ? throw new UsageException("--template needs the name of a message or a method.")
        : names.Select(name => Template(name, SchemaSymbols.Find(schema, name) switch
        {
            RpcMessageInfo message => message,
            RpcMethodInfo method => method.RequestType,
            _ => null,
        }));

    private static string Template(string name, RpcMessageInfo? type) => type is null
        ? throw new UsageException($"--template is for messages and methods, and '{name}' is neither.")
        : RequestTemplate.Create(type);

    private static string Describe(object element) => element switch
    {
        RpcServiceInfo service =>
            Headed($"{service.FullName}, interface id {service.InterfaceId}", service.ToProtoText()),
        RpcMethodInfo method => Describe(method),
        RpcMessageInfo message => Describe(message),
        RpcEnumInfo type =>
            Headed($"{type.FullName}{(type.IsClosed ? ", closed" : "")}", type.ToProtoText()),
        _ => "",
    };

    // Describes the method, then its request and reply types.
    private static string Describe(RpcMethodInfo method) => string.Join(
        "\n",
        new[] { method.RequestType, method.ReplyType }.DistinctBy(type => type.FullName).Select(Describe)
            .Prepend(Headed(method.FullName, method.ToProtoText())));

    private static string Describe(RpcMessageInfo message) => Headed(message.FullName, message.ToProtoText());

    // A blank line after the name keeps it from being a part of the element's own comment.
    private static string Headed(string name, string text) => $"// {name}\n\n{text}";
}

/// <summary><c>protorpc export</c>: writes a schema as .proto files, a descriptor set or a document of
/// OpenAPI.</summary>
internal static class ExportVerb
{
    private static readonly DescriptorSetSource Sets = new();

    public static Command Create(ToolConsole console)
    {
        Command command = new(
            "export",
            "Writes the schema of a server as .proto files, as a descriptor set or as an OpenAPI document.");
        ToolOption<string> output = new(
            "--output", "PATH",
            "A file that ends in .pb, .protoset or .desc for a descriptor set, or in .openapi.json for an "
            + "OpenAPI document; a folder for .proto files.",
            "-o")
        {
            Required = true,
        };
        Option<bool> force = new("--force", "-f") { Description = "Replaces files that exist." };
        ToolFlag openApi = new(
            "--openapi",
            "Writes an OpenAPI 3.1 document of the HTTP interface of the services, whatever the name of the "
            + "file.");
        output.RequirePath();
        command.Add(output);
        command.Add(force);
        command.Add(openApi);
        SymbolArguments arguments = new(command);

        command.SetAction(async (parsed, cancellation) =>
        {
            (RpcSchema schema, string[] symbols) = await arguments.ReadAsync(parsed, console, cancellation);
            RpcSchema part = symbols.Length == 0 ? schema : SchemaSymbols.PartOf(schema, symbols);
            string target = parsed.GetRequiredValue(output);
            bool isForced = parsed.GetValue(force);
            IReadOnlyList<string> written = parsed.GetValue(openApi) || RpcOpenApi.IsFileName(target)
                ? WriteFile(target, isForced, Encoding.UTF8.GetBytes(RpcOpenApi.Write(part.ServedServices)))
                : Write(part, target, isForced);
            foreach (string path in written)
            {
                console.WriteLine(TerminalText.Neutralize(path));
            }

            return ExitCode.Success;
        });
        return command;
    }

    private static IReadOnlyList<string> Write(RpcSchema schema, string path, bool isForced)
    {
        if (path.EndsWith(".proto", StringComparison.OrdinalIgnoreCase))
        {
            throw new UsageException(
                $"--output '{path}' is one .proto file, and a schema may have many. Give a folder for .proto "
                + "files, or a file that ends in .pb for a descriptor set.");
        }

        if (Sets.Reads(path) && !Directory.Exists(path))
        {
            return WriteFile(path, isForced, schema.ToDescriptorSet());
        }

        foreach ((string name, _) in schema.ToProtoTexts())
        {
            RequireNew(Path.Combine(path, name), isForced);
        }

        return schema.WriteProtoFiles(path);
    }

    private static IReadOnlyList<string> WriteFile(string path, bool isForced, byte[] bytes)
    {
        RequireNew(path, isForced);
        Directory.CreateDirectory(Path.GetDirectoryName(Path.GetFullPath(path))!);
        File.WriteAllBytes(path, bytes);
        return [path];
    }

    // File.Exists returns false for a link without a target, which must not be replaced either.
    private static void RequireNew(string path, bool isForced)
    {
        if (!isForced && (File.Exists(path) || new FileInfo(path).LinkTarget is not null))
        {
            throw new RpcException(
                RpcStatusCode.AlreadyExists, RpcErrorIds.FileExists,
                $"'{path}' exists. Use --force to replace it.");
        }
    }
}

/// <summary>Finds the services, methods, messages and enums of a schema by full or bare name.</summary>
internal static class SchemaSymbols
{
    /// <summary>The element itself: a service, method, message or enum.</summary>
    /// <exception cref="RpcException">NotFound: no element has the name.</exception>
    public static object Find(RpcSchema schema, string name)
    {
        // A descriptor writes types with a leading dot: .package.Message.
        string symbol = name.TrimStart('.');
        return TryFind(() => symbol.Contains('/') ? schema.GetMethod(symbol) : schema.GetService(symbol))
            ?? TryFind(() => schema.GetMessage(symbol))
            ?? TryFind(() => schema.GetEnum(symbol))
            ?? TryFind(() => schema.GetMethod(symbol))
            ?? throw new RpcException(
                RpcStatusCode.NotFound,
                $"The schema has no service, method, message or enum '{name}'; "
                + "to list the names, run 'protorpc describe' without a name.");
    }

    /// <summary>The full names to ask a server for, so that it only sends the files of these elements: a
    /// method's is that of its service. Empty if one of the names has no package.</summary>
    public static IReadOnlyList<string> ToAsk(IEnumerable<string> names)
    {
        string[] symbols = [.. names.Select(name => name.TrimStart('/', '.').Split('/')[0])];
        return Array.TrueForAll(symbols, symbol => symbol.Contains('.')) ? symbols : [];
    }

    /// <summary>Whether the schema has an element with each name.</summary>
    public static bool HasAll(RpcSchema schema, IEnumerable<string> names) =>
        names.All(name => TryFind(() => Find(schema, name)) is not null);

    /// <summary>The files that declare elements, with all that they import.</summary>
    /// <inheritdoc cref="Find"/>
    public static RpcSchema PartOf(RpcSchema schema, IEnumerable<string> names)
    {
        Queue<string> wanted = new(names.Select(name => FileOf(Find(schema, name))));
        Dictionary<string, FileDescriptorProto> all = FileDescriptorSet.Parser
            .ParseFrom(schema.ToDescriptorSet()).File.ToDictionary(file => file.Name, StringComparer.Ordinal);
        HashSet<string> found = new(StringComparer.Ordinal);
        while (wanted.TryDequeue(out string? name))
        {
            if (found.Add(name) && all.TryGetValue(name, out FileDescriptorProto? file))
            {
                Array.ForEach([.. file.Dependency, .. file.OptionDependency], wanted.Enqueue);
            }
        }

        FileDescriptorSet part = new();
        part.File.AddRange(all.Values.Where(file => found.Contains(file.Name)));
        return RpcSchema.FromDescriptorSet(part.ToByteArray());
    }

    private static string FileOf(object element) => element switch
    {
        RpcServiceInfo service => service.File.Name,
        RpcMethodInfo method => method.Service.File.Name,
        RpcMessageInfo message => message.File.Name,
        _ => ((RpcEnumInfo)element).File.Name,
    };

    private static object? TryFind(Func<object> look)
    {
        try
        {
            return look();
        }
        catch (RpcException e) when (e.Code == RpcStatusCode.NotFound)
        {
            return null;
        }
    }
}

/// <summary>The arguments <c>[ENDPOINT] [SYMBOL...]</c> of the verbs that show a schema.</summary>
internal sealed class SymbolArguments
{
    private readonly Argument<string[]> _arguments = new("ENDPOINT SYMBOL")
    {
        Description = "Where the server is, left out with --schema; and names of services, methods, messages "
            + "or enums, none for all.",
        Arity = ArgumentArity.ZeroOrMore,
    };

    private readonly ServerOptions _server;

    public SymbolArguments(Command command)
    {
        command.Add(_arguments);
        _server = new ServerOptions(command);
    }

    /// <summary>The schema that is asked for, and the symbols of it.</summary>
    /// <exception cref="UsageException">There is neither an endpoint nor a schema.</exception>
    public async Task<(RpcSchema Schema, string[] Symbols)> ReadAsync(
        ParseResult parsed, ToolConsole console, CancellationToken cancellation)
    {
        (ToolTarget? target, string[] symbols) = Split(parsed, console);
        if (target is null)
        {
            return (_server.GivenSchema(parsed, console)!, symbols);
        }

        await using ServerSession session =
            await _server.BeginAsync(parsed, target, symbols, console, cancellation);
        return (session.Schema, symbols);
    }

    /// <summary>The server and the symbols; no server if --schema suffices.</summary>
    public (ToolTarget? Target, string[] Symbols) Split(ParseResult parsed, ToolConsole console)
    {
        string[] given = parsed.GetValue(_arguments) ?? [];
        bool hasSchema = _server.HasSchema(parsed);
        if (given.Length == 0)
        {
            return hasSchema
                ? (null, given)
                : throw new UsageException(
                    "Give the endpoint of a server, such as grpc://host:50051, or a schema with "
                    + "--schema SOURCE.");
        }

        return !hasSchema || _server.Connecting.IsEndpoint(given[0])
            ? (_server.Connecting.FindTarget(parsed, given[0], console), given[1..])
            : (null, given);
    }

    /// <summary>The options of a client of the server.</summary>
    public RpcClientOptions ClientOptions(ParseResult parsed, ToolTarget target, ToolConsole console) =>
        _server.ClientOptions(parsed, target, service: null, console);

    /// <summary>Whether --schema is given.</summary>
    public bool HasSchema(ParseResult parsed) => _server.HasSchema(parsed);
}

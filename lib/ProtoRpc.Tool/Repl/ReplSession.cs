namespace ProtoRpc.Tool.Repl;

/// <summary>What a user of the REPL has chosen, and the commands that need no call.</summary>
/// <param name="schema">The schema.</param>
/// <param name="console">Where is written.</param>
internal sealed class ReplSession(RpcSchema schema, ToolConsole console)
{
    private const string Help = """
        services                  the services
        methods [SERVICE]         the methods of a service, or of the one that you use
        messages                  the messages
        use SERVICE               finds bare names of methods in a service
        describe NAME             a service, method, message or enum
        template METHOD           a request to fill in
        call METHOD [REQUEST]     calls: JSON, or FIELD=VALUE ...; several JSON values for a stream
                                  of requests, or none to write them line by line, up to a line with a dot
        header NAME: VALUE        sends a header with each call; header NAME: removes it
        headers                   the headers
        help, exit
        """;

    /// <summary>The commands, as they are completed.</summary>
    public static IReadOnlyList<string> Commands { get; } =
    [
        "call", "describe", "exit", "header", "headers", "help", "messages", "methods", "services", "show",
        "template", "use",
    ];

    public RpcSchema Schema => schema;

    /// <summary>The service whose methods have bare names; null for none.</summary>
    public RpcServiceInfo? Service { get; private set; } =
        schema.Services.Count == 1 ? schema.Services[0] : null;

    /// <summary>The headers of each call.</summary>
    public RpcMetadata Headers { get; } = new();

    /// <summary>What is shown before a line.</summary>
    public string Prompt => Service is null ? "protorpc> " : $"{Service.FullName}> ";

    /// <summary>Does a command other than call.</summary>
    /// <exception cref="UsageException">There is no such command, or it lacks something.</exception>
    /// <exception cref="RpcException">A name that there is not.</exception>
    public void Run(string command, string rest)
    {
        (string verb, string argument) = command == "show" ? (rest, "") : (command, rest);
        switch (verb)
        {
            case "services" or "service" or "package" when argument.Length == 0:
                Write(schema.Services.Select(one => one.FullName));
                break;
            case "methods" or "rpc":
                RpcServiceInfo[] services = argument.Length > 0 ? [schema.GetService(argument)]
                    : Service is not null ? [Service]
                    : [.. schema.Services];
                Write(services.SelectMany(one => one.Methods)
                    .Select(one => $"{one.FullName}: {one.Signature}"));
                break;
            case "messages" or "message":
                Write(schema.Messages.Select(one => one.FullName));
                break;
            case "use" or "service":
                Service = schema.GetService(Required(argument, "use SERVICE"));
                break;
            case "describe" or "desc":
                console.WriteLine(TerminalText.Neutralize(Describe(Required(argument, "describe NAME"))));
                break;
            case "template":
                RpcMethodInfo method = Find(Required(argument, "template METHOD"));
                console.WriteLine(RequestTemplate.Of(method.RequestType));
                break;
            case "headers":
                Write(Headers.Select(one => $"{one.Key}: {one.Value}"));
                break;
            case "header":
                SetHeader(Required(argument, "header NAME: VALUE"));
                break;
            case "help" or "?":
                console.WriteLine(Help.ReplaceLineEndings("\n"));
                break;
            default:
                throw new UsageException($"There is no command '{verb}'. Type help.");
        }
    }

    /// <summary>A method by the name that a user types.</summary>
    /// <exception cref="RpcException">NotFound: there is none.</exception>
    public RpcMethodInfo Find(string name) => Service?.FindMethod(name) ?? schema.GetMethod(name);

    /// <summary>The same; null for none.</summary>
    public RpcMethodInfo? TryFind(string name)
    {
        try
        {
            return Find(name);
        }
        catch (RpcException)
        {
            return null;
        }
    }

    private static string Required(string argument, string usage) => argument.Length > 0
        ? argument
        : throw new UsageException($"Type {usage}.");

    private string Describe(string name)
    {
        if (TryFind(name) is { } method)
        {
            return $"{method.ToProtoText().TrimEnd()}\n\n{method.RequestType.ToProtoText().TrimEnd()}\n\n"
                + method.ReplyType.ToProtoText().TrimEnd();
        }

        return schema.Services.FirstOrDefault(one => Is(one.FullName, one.Name))?.ToProtoText().TrimEnd()
            ?? schema.Enums.FirstOrDefault(one => Is(one.FullName, one.Name))?.ToProtoText().TrimEnd()
            ?? schema.GetMessage(name).ToProtoText().TrimEnd();

        bool Is(string full, string bare) => name == full || name == bare;
    }

    private void SetHeader(string text)
    {
        int colon = text.IndexOf(':', StringComparison.Ordinal);
        if (colon < 1)
        {
            throw new UsageException("Type header NAME: VALUE, or header NAME: to send it no longer.");
        }

        (string name, string value) = (text[..colon].Trim(), text[(colon + 1)..].Trim());
        Headers.Remove(name);
        if (value.Length == 0)
        {
            return;
        }

        if (name.EndsWith("-bin", StringComparison.OrdinalIgnoreCase))
        {
            byte[] bytes = new byte[value.Length];
            Headers.Add(name, Convert.TryFromBase64String(value, bytes, out int count)
                ? bytes[..count]
                : throw new UsageException($"The value of {name} is not base64, as its name says."));
        }
        else
        {
            Headers.Add(name, value);
        }
    }

    private void Write(IEnumerable<string> lines)
    {
        foreach (string line in lines)
        {
            console.WriteLine(TerminalText.Neutralize(line));
        }
    }
}

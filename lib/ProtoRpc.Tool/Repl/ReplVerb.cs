using ProtoRpc.Tool.Completion;
using ProtoRpc.Tool.Replies.Programs;
using ProtoRpc.Tool.Verbs;

namespace ProtoRpc.Tool.Repl;

/// <summary><c>protorpc repl</c>: a session with a server, line by line.</summary>
internal static class ReplVerb
{
    public static Command Create(ToolConsole console)
    {
        Argument<string> endpoint = new("ENDPOINT")
        {
            Description = "Where the service is, or a registered name.",
        };
        ToolOption<string?> service = new("--service", "NAME", "The service to use at first.");
        Command command = new(
            "repl", "Calls methods line by line, with completion and history; also commands of a file.")
        {
            endpoint, service,
        };
        SchemaOptions schemaOptions = new(command, required: false);
        CallOptions callOptions = new(command);
        ConnectOptions connectOptions = new(command);

        command.SetAction(async (parsed, cancellation) =>
        {
            ToolTarget target = connectOptions.FindTarget(parsed, parsed.GetRequiredValue(endpoint), console);
            RpcSchema? given = schemaOptions.LoadIfGiven(parsed, console) ?? target.LoadSchema(console);
            string? name = parsed.GetValue(service);
            RpcClientOptions options = connectOptions.Apply(
                parsed, target, callOptions.ClientOptions(parsed, given is null ? null : name), console);
            options = given is { Services.Count: > 1 } && options.Service is null
                ? options with { Service = given.Services[0].FullName }
                : options;
            await using RpcClient client =
                await ServerSession.ConnectAsync(target.Endpoint, given, options, cancellation);
            ReplSession session =
                new(given ?? await ServerSession.FetchAsync(client, null, cancellation), console);
            if ((name ?? target.Named?.Service) is { } chosen)
            {
                session.Run("use", chosen);
            }

            ReplLoop loop = new(session, new ReplCall(client, session, console), console);
            return await loop.RunAsync(cancellation);
        });
        return command;
    }
}

/// <summary>Reads and runs lines: from a terminal with an editor, otherwise from standard input.</summary>
internal sealed class ReplLoop(ReplSession session, ReplCall calls, ToolConsole console)
{
    private static readonly TimeSpan KeyInterval = TimeSpan.FromMilliseconds(50);
    private const string StreamPrompt = "... ";
    private int _failures;

    private bool IsTerminal =>
        ReferenceEquals(console.Input, Console.In) && !Console.IsInputRedirected
        && !Console.IsOutputRedirected;

    /// <summary>Runs until exit or the end of the input.</summary>
    /// <returns>Success; of a file whose last command failed, the failure.</returns>
    public async Task<int> RunAsync(CancellationToken cancellation)
    {
        if (!IsTerminal)
        {
            await RunLinesAsync(_ => new(console.Input.ReadLine()), null, cancellation);
            return _failures > 0 ? ExitCode.Failed : ExitCode.Success;
        }

        ReplHistory history = new(ReplHistory.PathOf(console.Variable));
        LineEditor editor = new(
            () => Console.ReadKey(intercept: true), Console.Write, () => Console.WindowWidth,
            new ReplCompleter(session).Complete, history.Lines);

        // Ctrl+C ends the current line or call, but not the session.
        Console.TreatControlCAsInput = true;
        try
        {
            await RunLinesAsync(editor.ReadLine, history, cancellation);
        }
        finally
        {
            Console.TreatControlCAsInput = false;
        }

        return ExitCode.Success;
    }

    private async Task RunLinesAsync(
        Func<string, TypedLine> readLine, ReplHistory? history, CancellationToken cancellation)
    {
        while (!cancellation.IsCancellationRequested)
        {
            TypedLine typed = readLine(session.Prompt);
            if (typed.Text is not { } text)
            {
                return;
            }

            string line = text.Trim();
            if (line.Length == 0 || line[0] == '#')
            {
                continue;
            }

            history?.Add(text);
            if (line is "exit" or "quit")
            {
                return;
            }

            await DoAsync(line, () => readLine(StreamPrompt), history is not null, cancellation);
        }
    }

    private async Task DoAsync(
        string line, Func<TypedLine> readLine, bool isTerminal, CancellationToken cancellation)
    {
        int space = line.IndexOf(' ', StringComparison.Ordinal);
        string command = space < 0 ? line : line[..space];
        string rest = space < 0 ? "" : line[(space + 1)..].Trim();
        try
        {
            if (command == "call")
            {
                await CallAsync(rest, readLine, isTerminal, cancellation);
            }
            else
            {
                session.Run(command, rest);
            }
        }
        catch (RpcException e)
        {
            Fail($"{e.Code}: {TerminalText.Neutralize(e.Message)}");
        }
        catch (UsageException e)
        {
            Fail(TerminalText.Neutralize(e.Message));
        }
        catch (OperationCanceledException)
        {
            Fail("cancelled.");
        }
    }

    private async Task CallAsync(
        string rest, Func<TypedLine> readLine, bool isTerminal, CancellationToken cancellation)
    {
        using CancellationTokenSource stop = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        bool isTyping = false;
        Task call = Task.Run(
            () => calls.RunAsync(
                rest,
                () =>
                {
                    isTyping = true;
                    TypedLine line = readLine();
                    isTyping = false;
                    return line;
                },
                stop.Token),
            CancellationToken.None);
        while (isTerminal && !call.IsCompleted)
        {
            if (!Volatile.Read(ref isTyping) && Console.KeyAvailable
                && Console.ReadKey(intercept: true) is
                { Key: ConsoleKey.C, Modifiers: ConsoleModifiers.Control })
            {
                await stop.CancelAsync();
            }

            await Task.WhenAny(call, Task.Delay(KeyInterval, CancellationToken.None));
        }

        await call;
    }

    private void Fail(string message)
    {
        _failures++;
        console.WriteError(message);
    }
}

/// <summary>The state of a REPL, and the commands that make no call.</summary>
/// <param name="schema">The schema.</param>
/// <param name="console">Receives the output.</param>
internal sealed class ReplSession(RpcSchema schema, ToolConsole console)
{
    private const string Help = """
        services, list            the services
        methods [SERVICE]         the methods of a service, or of the one that you use
        messages                  the messages
        use SERVICE               finds bare names of methods in a service
        describe NAME             a service, method, message or enum
        template METHOD           a request to fill in
        call METHOD [REQUEST]     calls: JSON, or FIELD=VALUE ...; several JSON values for a stream
                                  of requests, or none to write them line by line, up to a line with a dot
        header NAME: VALUE        sends a header with each call; header NAME: removes it
        headers                   the headers
        help                      this list
        exit, quit                ends the session, as the end of the input does
        """;

    /// <summary>The commands, for completion.</summary>
    public static IReadOnlyList<string> Commands { get; } =
    [
        "call", "describe", "exit", "header", "headers", "help", "list", "messages", "methods", "services",
        "show", "template", "use",
    ];

    public RpcSchema Schema => schema;

    /// <summary>The service whose methods have bare names; null for none.</summary>
    public RpcServiceInfo? Service { get; private set; } =
        schema.Services.Count == 1 ? schema.Services[0] : null;

    /// <summary>The headers of each call.</summary>
    public RpcMetadata Headers { get; } = new();

    /// <summary>The prompt.</summary>
    public string Prompt => Service is null ? "protorpc> " : $"{Service.FullName}> ";

    /// <summary>Does a command other than call.</summary>
    /// <exception cref="UsageException">The command does not exist, or lacks an argument.</exception>
    /// <exception cref="RpcException">A name does not exist.</exception>
    public void Run(string command, string rest)
    {
        (string verb, string argument) = command == "show" ? (rest, "") : (command, rest);
        switch (verb)
        {
            case "services" or "service" or "package" or "list" when argument.Length == 0:
                Write(schema.Services.Select(one => one.FullName));
                break;
            case "methods" or "rpc" or "list":
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
                console.WriteLine(RequestTemplate.Create(method.RequestType));
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
                throw new UsageException(TryFind(verb) is null
                    ? $"There is no command '{verb}'.{NearestName.Hint(verb, Commands)} Type help."
                    : $"'{verb}' is a method. Type call {verb} {argument}".TrimEnd());
        }
    }

    /// <summary>A method by the name that a user types.</summary>
    /// <exception cref="RpcException">NotFound: the method does not exist.</exception>
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
            throw new UsageException("Type header NAME: VALUE, or header NAME: to stop sending it.");
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
                : throw new UsageException(
                    $"The value of {name} must be base64, because the name ends in -bin."));
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

/// <summary>Makes the calls of the REPL.</summary>
/// <param name="client">The connection.</param>
/// <param name="session">Names and headers.</param>
/// <param name="console">Gets the replies.</param>
internal sealed class ReplCall(RpcClient client, ReplSession session, ToolConsole console)
{
    private const string LastLine = ".";
    private static readonly FormatOptions Shown = new() { Indented = true };

    /// <summary>Calls a method, and writes its replies as they arrive.</summary>
    /// <param name="text">The method and its requests.</param>
    /// <param name="readLine">Reads a request of a stream; returns null at the end, or if the user
    /// cancelled.</param>
    /// <param name="cancellation">Ends the call.</param>
    public async Task RunAsync(string text, Func<TypedLine> readLine, CancellationToken cancellation)
    {
        string[] parts = text.Split(
            ' ', 2, StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries);
        if (parts.Length == 0)
        {
            throw new UsageException("Type call METHOD [REQUEST].");
        }

        RpcMethodInfo method = session.Find(parts[0]);
        string request = parts.Length > 1 ? parts[1] : "";
        RpcCallOptions options = new() { Headers = session.Headers };
        if (method.IsUnary)
        {
            DynamicMessage[] messages = [.. Read(method, request)];
            if (messages.Length != 1)
            {
                throw new UsageException($"{method.FullName} takes one request, not {messages.Length}.");
            }

            Write(await client.InvokeAsync(method, messages[0], options, cancellation));
            return;
        }

        await using RpcStreamingCall call = await client.OpenAsync(method, options, cancellation);
        Task receiving = ReceiveAsync(call, cancellation);
        IEnumerable<DynamicMessage> sent = method.IsClientStreaming && request.Length == 0
            ? ReadLines(method, readLine)
            : Read(method, request);
        foreach (DynamicMessage message in sent)
        {
            if (receiving.IsCompleted || !await call.SendAsync(message, cancellationToken: cancellation))
            {
                break;
            }
        }

        await call.CompleteAsync(cancellation);
        await receiving;
    }

    private async Task ReceiveAsync(RpcStreamingCall call, CancellationToken cancellation)
    {
        // Returns to the caller, so that lines with requests can be typed while replies arrive.
        await Task.Yield();
        while (await call.ReadAsync(cancellation))
        {
            Write(call.Current);
        }
    }

    private IEnumerable<DynamicMessage> ReadLines(RpcMethodInfo method, Func<TypedLine> readLine)
    {
        while (true)
        {
            TypedLine line = readLine();
            if (line.IsCancelled)
            {
                throw new OperationCanceledException();
            }

            if (line.Text is null or LastLine)
            {
                yield break;
            }

            if (line.Text.Length > 0)
            {
                foreach (DynamicMessage message in Read(method, line.Text))
                {
                    yield return message;
                }
            }
        }
    }

    // The text is JSON, or a list of fields with values.
    private static IEnumerable<DynamicMessage> Read(RpcMethodInfo method, string text)
    {
        if (text.Length == 0 || text[0] is not ('{' or '['))
        {
            IReadOnlyList<string> fields = text.Length == 0 ? [] : CommandWords.Split(text, "The request");
            return
            [
                new MessageMapper().ToMessage(
                    method.RequestType, FieldAssignments.Read(method.RequestType, fields)),
            ];
        }

        return JsonArgument.Read(method.RequestType, text, method.IsClientStreaming, "The request");
    }

    private void Write(DynamicMessage reply) => console.WriteLine(
        TerminalText.Neutralize(MessageFormats.Json.ToText(reply, Shown)));
}

/// <summary>Completes the last word of a line of the REPL.</summary>
internal sealed class ReplCompleter(ReplSession session)
{
    private static readonly string[] Shown = ["services", "methods", "messages", "headers", "service"];

    /// <summary>The suggestions, and the position of the word that they replace.</summary>
    public (int Start, IReadOnlyList<string> Words) Complete(string line)
    {
        int start = line.LastIndexOf(' ') + 1;
        string word = line[start..];
        string[] before = line[..start].Split(' ', StringSplitOptions.RemoveEmptyEntries);
        IEnumerable<string> words = before switch
        {
            [] => ReplSession.Commands,
            ["show"] => Shown,
            ["use" or "service" or "methods" or "list"] => Services(),
            ["call" or "template"] => Methods(word),
            ["describe" or "desc"] => Services().Concat(Methods(word))
                .Concat(session.Schema.Messages.Select(one => one.FullName)),
            ["call", var method, ..] => Fields(method, word),
            _ => [],
        };
        return (start,
        [
            .. words.Where(one => one.StartsWith(word, StringComparison.OrdinalIgnoreCase))
                .Select(TerminalText.Neutralize).Distinct().Order(StringComparer.Ordinal),
        ]);
    }

    private IEnumerable<string> Services() => session.Schema.Services.Select(one => one.FullName);

    // Methods of the selected service are suggested by their bare name, all others by their full name. A bare
    // name that only one service has also works.
    private IEnumerable<string> Methods(string word)
    {
        RpcMethodInfo[] all = [.. session.Schema.Services.SelectMany(service => service.Methods)];
        IEnumerable<string> full =
            all.Select(method => method.Service == session.Service ? method.Name : method.FullName);
        return word.Length == 0 || full.Any(name => name.StartsWith(word, StringComparison.OrdinalIgnoreCase))
            ? full
            : all.GroupBy(method => method.Name, StringComparer.OrdinalIgnoreCase)
                .Where(named => named.Count() == 1)
                .Select(named => named.Key);
    }

    private IEnumerable<string> Fields(string name, string word) =>
        session.TryFind(name) is { } method ? FieldPaths.Get(method.RequestType, word) : [];
}

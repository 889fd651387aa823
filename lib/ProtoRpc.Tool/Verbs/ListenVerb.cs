using ProtoRpc.Tool.Replies;
using ProtoRpc.Tool.Replies.Programs;

namespace ProtoRpc.Tool.Verbs;

/// <summary><c>protorpc listen</c>: serves services with replies, templates or programs, and prints who calls
/// what.</summary>
internal static class ListenVerb
{
    public static Command Create(ToolConsole console)
    {
        ToolOption<Guid?> interfaceId = new(
            "--interface-id", "GUID",
            "The interface id on native endpoints, where it is not the service's own.");
        Command command = new("listen", "Serves services, prints who calls what, and stops with Ctrl+C.");
        ServedArguments arguments = new(command);
        command.Add(interfaceId);
        HandlerOptions answers = new(command);
        ServingOptions servingOptions = new(command);
        SchemaOptions schemaOptions = new(command);
        ListenOptions listenOptions = new(command);

        command.SetAction(async (parsed, cancellation) =>
        {
            RpcEndpoint[] listening = arguments.Endpoints(parsed, console);
            RpcSchema schema = schemaOptions.Load(parsed, console);
            RpcServiceInfo[] served = Served(schema, arguments.Services(parsed));
            if (served.Length > 1 && parsed.GetValue(interfaceId) is not null)
            {
                throw new UsageException(
                    $"--interface-id is for one service, and {served.Length} are served. Give --service.");
            }

            using RpcCallRecorder? recorder = listenOptions.OpenRecorder(parsed, console);
            RpcServerOptions options = listenOptions.ServerOptions(parsed, listening, recorder, console);
            options = servingOptions.Apply(parsed, options, () => served, console);
            List<IAsyncDisposable> held = [];
            try
            {
                await using RpcServer server = RpcServer.Create(
                    schema, served[0].FullName, options, parsed.GetValue(interfaceId));
                Array.ForEach(served[1..], service => server.AddService(service));
                ListenOptions.WarnOfMasks(recorder, server, console);
                answers.Apply(parsed, server, console, held);
                Array.ForEach(listening, endpoint => server.AddEndpoint(endpoint));
                await ServingRun.RunAsync(
                    server, _ => $"Serving {string.Join(", ", served.Select(one => one.FullName))}.",
                    console, cancellation);
                return ExitCode.Success;
            }
            finally
            {
                foreach (IAsyncDisposable one in held)
                {
                    await one.DisposeAsync();
                }
            }
        });
        return command;
    }

    private static RpcServiceInfo[] Served(RpcSchema schema, string[] names)
    {
        RpcServiceInfo[] served = names.Length == 0
            ? [.. schema.Services]
            : [.. names.Select(schema.GetService).Distinct()];
        return served.Length > 0
            ? served
            : throw new RpcException(RpcStatusCode.NotFound, "The schema declares no service.");
    }
}

/// <summary>The options of <c>protorpc listen</c> for the replies.</summary>
internal sealed class HandlerOptions
{
    private const int MaxPrograms = 1000;

    private readonly ToolOption<string[]> _reply = new(
        "--reply", "[METHOD=]JSON",
        "The reply of a method, or to every call without METHOD=: JSON text, @FILE, or - for standard "
        + "input; an array for a stream. May be repeated.");

    private readonly ToolOption<string[]> _template = new(
        "--template", "[METHOD=]JSON",
        "A reply whose strings have placeholders: {{request.FIELD}}, {{headers.NAME}}, {{method}}, "
        + "{{user}}, {{peer}}, {{call}}, {{count}}, {{now}}, {{uuid}}. May be repeated.");

    private readonly ToolOption<string[]> _fail = new(
        "--fail", "[METHOD=]STATUS: MESSAGE",
        "Fails the calls of a method, or every call, as in 'Search=NOT_FOUND: no such page'. May be "
        + "repeated.");

    private readonly ToolOption<string[]> _replyFolder = new(
        "--reply-dir", "FOLDER",
        "A folder with a file for each method: Search.json, shop.Orders.Place.xml, or "
        + "Search.template.json with placeholders. May be repeated.");

    private readonly ToolFlag _echo = new(
        "--echo", "Replies with the fields of the request that the reply also has, by name and type.");

    private readonly ToolOption<string[]> _exec = new(
        "--exec", "[METHOD=]PROGRAM",
        "Runs a program for each call, without a shell: requests are lines of JSON on its standard "
        + "input, replies are on its standard output, method and headers in its environment; its exit "
        + "code is the status, its standard error the message. May be repeated.");

    private readonly ToolOption<string[]> _execKeep = new(
        "--exec-keep", "[METHOD=]PROGRAM",
        "Like --exec, with programs that stay and answer one call after the other, by lines of JSON. "
        + "May be repeated.");

    private readonly ToolOption<string[]> _execEnvironment = new(
        "--exec-env", "NAME[=VALUE]",
        "A variable that programs get, of this environment or with its value. Without it, they get "
        + "PATH, HOME, the language and the like, but no secrets of this environment. May be repeated.");

    private readonly ToolFlag _execAuthorization = new(
        "--exec-authorization",
        "Gives programs also the caller's Authorization header: its password or token.");

    private readonly ToolOption<int> _execLimit = new(
        "--exec-limit", "PROGRAMS", "Programs that can run at the same time; further calls wait.")
    {
        DefaultValueFactory = _ => ProgramSlots.DefaultCount,
    };

    public HandlerOptions(Command command)
    {
        Option[] all =
        [
            _reply, _template, _fail, _replyFolder, _echo, _exec, _execKeep, _execEnvironment,
            _execAuthorization, _execLimit,
        ];
        Array.ForEach(all, command.Add);
    }

    /// <summary>Gives a server its handlers.</summary>
    /// <param name="parsed">The command line.</param>
    /// <param name="server">The server, with its services.</param>
    /// <param name="console">The console, whose standard input is read for <c>-</c>.</param>
    /// <param name="held">Receives the objects to dispose when the server has stopped.</param>
    /// <exception cref="UsageException">Options that exclude each other, or are invalid.</exception>
    /// <exception cref="RpcException">A method does not exist, or a reply does not fit its
    /// method.</exception>
    public void Apply(
        ParseResult parsed, RpcServer server, ToolConsole console, List<IAsyncDisposable> held)
    {
        RpcMethodInfo[] methods = [.. server.Services.SelectMany(service => service.Key.Methods)];
        List<MethodAnswer> answers = Read(parsed, console, held);
        MethodAnswer[] ofAll = [.. answers.Where(answer => answer.Method is null)];
        if (ofAll.Length > 1)
        {
            throw new UsageException(
                $"{ofAll[0].Option} and {ofAll[1].Option} both answer every call. Give one of them, or write "
                + "METHOD= before the value.");
        }

        Dictionary<string, MethodAnswer> ofOne = [];
        foreach (MethodAnswer answer in answers.Where(answer => answer.Method is not null))
        {
            RpcMethodInfo method = MethodNames.Find(methods, answer.Method!, answer.Option);
            if (!ofOne.TryAdd(method.FullName, answer))
            {
                throw new UsageException($"{method.FullName} has two replies. Remove one of them.");
            }
        }

        foreach (string folder in parsed.GetValue(_replyFolder) ?? [])
        {
            foreach ((string name, RpcMethodHandler handler) in ReplyFolder.Read(folder, methods))
            {
                if (!ofOne.TryAdd(name, new(_replyFolder.Name, name, _ => handler)))
                {
                    throw new UsageException(
                        $"{name} has two replies, one of them in '{folder}'. Remove one of the two.");
                }
            }
        }

        foreach (RpcMethodInfo method in methods)
        {
            if (ofOne.TryGetValue(method.FullName, out MethodAnswer? answer))
            {
                server.Handle(method.FullName, answer.Make(method));
            }
        }

        // If replies are given only for some methods, the others are not served.
        RpcMethodInfo[] rest = [.. methods.Where(method => !ofOne.ContainsKey(method.FullName))];
        MethodAnswer? general = ofAll.FirstOrDefault()
            ?? (ofOne.Count == 0 ? new("an empty reply", null, FixedReply.Empty) : null);
        if (general is not null)
        {
            HandleRest(server, rest, general, isGiven: ofAll.Length > 0);
        }
    }

    // A reply may not fit all methods. For several methods, a misfit is reported when the method is called.
    private static void HandleRest(
        RpcServer server, RpcMethodInfo[] rest, MethodAnswer answer, bool isGiven)
    {
        List<(RpcMethodInfo Method, RpcException Error)> misfits = [];
        foreach (RpcMethodInfo method in rest)
        {
            try
            {
                server.Handle(method.FullName, answer.Make(method));
            }
            catch (RpcException e)
            {
                misfits.Add((method, e));
            }
        }

        if (isGiven && misfits.Count > 0 && misfits.Count == rest.Length)
        {
            throw misfits[0].Error;
        }

        foreach ((RpcMethodInfo method, RpcException error) in misfits)
        {
            server.Handle(method.FullName, FailureHandler.Create(
                RpcStatusCode.FailedPrecondition,
                $"The fixed reply of this listener is not valid for {method.FullName}: {error.Message}"));
        }
    }

    private List<MethodAnswer> Read(
        ParseResult parsed, ToolConsole console, List<IAsyncDisposable> held)
    {
        List<MethodAnswer> answers = [];
        Add(_reply, text => FixedReply.Parse(JsonArgument.Text(text, console.Input), _reply.Name));
        Add(_template, text =>
        {
            string json = JsonArgument.Text(text, console.Input);
            return method => TemplateHandler.Create(method, json, _template.Name);
        });
        Add(_fail, text =>
        {
            RpcMethodHandler handler = FailureHandler.Read(_fail.Name, text);
            return _ => handler;
        });
        if (parsed.GetValue(_echo))
        {
            answers.Add(new(_echo.Name, null, _ => EchoHandler.Create()));
        }

        ProgramEnvironment environment = EnvironmentOf(parsed, console);
        Lazy<ProgramSlots> slots = new(() => new ProgramSlots(Limit(parsed)));
        Add(_exec, text =>
        {
            RpcMethodHandler handler = new ProgramHandler(
                HandlerProgram.Find(text, _exec.Name, console.Variable, environment), slots.Value, console)
                .ToHandler();
            return _ => handler;
        });
        Add(_execKeep, text =>
        {
            PersistentProgramHandler kept = new(
                HandlerProgram.Find(text, _execKeep.Name, console.Variable, environment), slots.Value);
            held.Add(kept);
            RpcMethodHandler handler = kept.ToHandler();
            return _ => handler;
        });
        return answers;

        void Add(Option<string[]> option, Func<string, Func<RpcMethodInfo, RpcMethodHandler>> make)
        {
            foreach (string text in parsed.GetValue(option) ?? [])
            {
                MethodValue value = MethodValue.Read(text);
                answers.Add(new(option.Name, value.Method, make(value.Value)));
            }
        }
    }

    private ProgramEnvironment EnvironmentOf(ParseResult parsed, ToolConsole console)
    {
        ProgramEnvironment environment = new(
            parsed.GetValue(_execEnvironment) ?? [], parsed.GetValue(_execAuthorization), console.Variable);

        // Missing variables are reported now and not at the first call.
        environment.Read();
        return environment;
    }

    private int Limit(ParseResult parsed) =>
        parsed.GetValue(_execLimit) is >= 1 and <= MaxPrograms and var limit ? limit
        : throw new UsageException($"{_execLimit.Name} must be from 1 to {MaxPrograms}.");

    /// <summary>The handler for the calls of one method, or of all methods.</summary>
    /// <param name="Option">The option that gave it.</param>
    /// <param name="Method">The method's name on the command line; null for all.</param>
    /// <param name="Make">Makes the handler of a method.</param>
    private sealed record MethodAnswer(
        string Option, string? Method, Func<RpcMethodInfo, RpcMethodHandler> Make);
}

/// <summary>The endpoints and services of a verb that serves.</summary>
internal sealed class ServedArguments
{
    private readonly Argument<string[]> _endpoints = new("ENDPOINT")
    {
        Description = "Where to listen, by any protocol; several are served together, and port 0 is a free "
            + "one. A registered name means its endpoint.",
        Arity = ArgumentArity.OneOrMore,
    };

    private readonly ToolOption<string[]> _services = new(
        "--service", "NAME", "A service to serve; may be repeated. All of the schema where none is given.");

    public ServedArguments(Command command)
    {
        command.Add(_endpoints);
        command.Add(_services);
    }

    /// <summary>The endpoints to listen on.</summary>
    /// <exception cref="RpcException">One is neither an endpoint nor a registered name.</exception>
    public RpcEndpoint[] Endpoints(ParseResult parsed, ToolConsole console) =>
        [.. parsed.GetRequiredValue(_endpoints).Select(text => ToolTarget.Find(text, console).Endpoint)];

    /// <summary>The names of the services; none for all of the schema.</summary>
    public string[] Services(ParseResult parsed) => parsed.GetValue(_services) ?? [];
}

using System.Diagnostics;
using ProtoRpc.Tool.Replies;
using ProtoRpc.Transports;

namespace ProtoRpc.Tool.Verbs;

/// <summary>The options of commands that call one server: how to reach it, and where its schema is.</summary>
internal sealed class ServerOptions
{
    private readonly ToolFlag _useReflection = new(
        "--use-reflection",
        "Also asks the server for its schema where --schema is given; each adds what the other lacks.");

    private readonly SchemaOptions _schema;
    private readonly CallOptions _call;
    private readonly RetryOptions _retries;

    public ServerOptions(Command command)
    {
        _schema = new SchemaOptions(command, required: false);
        command.Add(_useReflection);
        _call = new CallOptions(command);
        _retries = new RetryOptions(command);
        Connecting = new ConnectOptions(command, reflects: true);
    }

    public ConnectOptions Connecting { get; }

    /// <summary>Whether --schema is given.</summary>
    public bool HasSchema(ParseResult parsed) => _schema.IsGiven(parsed);

    /// <summary>The schema of --schema; null if the option was not given.</summary>
    public RpcSchema? GivenSchema(ParseResult parsed, ToolConsole console) =>
        _schema.LoadIfGiven(parsed, console);

    /// <summary>Finds the schema of a server: that of --schema, that of its registered name, or the one that
    /// the server sends.</summary>
    /// <param name="parsed">The command line.</param>
    /// <param name="target">The server.</param>
    /// <param name="names">The services, methods and types that are used; empty for all.</param>
    /// <param name="console">Gets the warnings.</param>
    /// <param name="cancellation">Gives up.</param>
    /// <exception cref="UsageException">The server cannot be asked, and --schema is not given.</exception>
    /// <exception cref="CallFailedException">The server does not send its schema.</exception>
    public async Task<ServerSession> BeginAsync(
        ParseResult parsed, ToolTarget target, IReadOnlyList<string> names, ToolConsole console,
        CancellationToken cancellation)
    {
        RpcSchema? given = GivenSchema(parsed, console) ?? target.LoadSchema(console);
        RpcEndpoint endpoint = target.Endpoint;
        RpcClientOptions options = ClientOptions(parsed, target, service: null, console);
        DateTimeOffset? deadline = _call.MaxTime(parsed) is { } time ? DateTimeOffset.UtcNow + time : null;
        ServerSession session = new(endpoint, options, deadline);
        if (given is not null && !parsed.GetValue(_useReflection))
        {
            session.Schema = given;
            return session;
        }

        if (!endpoint.Has(EndpointFeatures.Reflection) && !endpoint.IsHttp)
        {
            throw new UsageException(
                $"'{endpoint}' cannot be asked for its schema. Give the .proto files with --schema SOURCE.");
        }

        await session.AskAsync(
            given, names, Connecting.Headers.OfReflection(parsed, console), cancellation);
        SchemaOptions.Warn(session.Schema, console);
        return session;
    }

    /// <summary>The options of a client without a schema.</summary>
    public RpcClientOptions ClientOptions(
        ParseResult parsed, ToolTarget target, string? service, ToolConsole console)
    {
        RpcClientOptions options =
            Connecting.Apply(parsed, target, _call.ClientOptions(parsed, service), console);
        return options with
        {
            Retry = _retries.Apply(parsed, options.Retry),
            LoggerFactory = RetryLog.Create(parsed, console),
        };
    }
}

/// <summary>The options of commands that serve, for output, logs, and limits of time.</summary>
internal sealed class ServingOptions
{
    private readonly ToolOption<string?> _accessLog = new(
        "--access-log", "FILE", "Appends a line of JSON for every call to a file, also for rejected calls.");

    private readonly ToolFlag _quiet = new("--quiet", "Does not print the calls.", "-q");

    private readonly ToolOption<double?> _timeout = new(
        "--handler-timeout", "SECONDS",
        "The longest time of a call in seconds, also for callers with a later deadline. No limit by "
        + "default.")
    {
        CustomParser = SecondsArgument.ParseOptional,
    };

    public ServingOptions(Command command)
    {
        _accessLog.RequirePath();
        command.Add(_accessLog);
        command.Add(_quiet);
        command.Add(_timeout);
    }

    /// <summary>The options of a server, with what these options say.</summary>
    /// <exception cref="UsageException">The time is no time.</exception>
    public RpcServerOptions Apply(
        ParseResult parsed, RpcServerOptions options, Func<IReadOnlyList<RpcServiceInfo>> served,
        ToolConsole console)
    {
        options = options with { Warned = console.WriteError };
        if (parsed.GetValue(_accessLog) is { } path)
        {
            options = options with { AccessLog = RpcAccessLog.ToFile(path, console.WriteError) };
        }

        if (!parsed.GetValue(_quiet))
        {
            options = options with
            {
                Interceptors = [new CallPrinter(console, served), .. options.Interceptors],
            };
        }

        return parsed.GetValue(_timeout) is not { } seconds ? options
            : seconds is > 0 and <= int.MaxValue / 1000
                ? options with
                {
                    Limits = options.Limits with { HandlerTimeout = TimeSpan.FromSeconds(seconds) },
                }
            : throw new UsageException($"{_timeout.Name} must be more than 0 seconds.");
    }
}

/// <summary>A server of the tool from its start to its end, for the user and the service manager.</summary>
internal static class ServingRun
{
    /// <summary>Listens until the token is cancelled, or the reader of the output has ended, and lets running
    /// calls end. A service manager in NOTIFY_SOCKET is notified by sd_notify(3).</summary>
    /// <param name="server">The server, with its endpoints.</param>
    /// <param name="what">The description of the server, for the user.</param>
    /// <param name="console">Gets the endpoints.</param>
    /// <param name="stop">Ends it.</param>
    /// <exception cref="RpcException">It cannot listen, or NOTIFY_SOCKET is no address.</exception>
    /// <exception cref="OutputClosedException">The reader of standard output has ended.</exception>
    public static async Task RunAsync(
        RpcServer server, Func<RpcServer, string> what, ToolConsole console, CancellationToken stop)
    {
        using ServiceNotifier? service = ServiceNotifier.Create(console.Variable);
        server.StartListening();
        foreach (RpcEndpoint endpoint in server.Endpoints)
        {
            console.WriteLine($"Listening on {endpoint}");
        }

        bool isHeard = Notify(
            () => service?.Ready($"Serving {string.Join(", ", server.Endpoints)}"), console);
        console.WriteLine($"{what(server)} Press Ctrl+C to stop.");
        TimeSpan sign = isHeard && service?.WatchdogInterval is { } interval
            ? interval
            : Timeout.InfiniteTimeSpan;
        Task end = Task.WhenAny(server.Completion, console.OutputClosed);
        while (!await HasEndedAsync(end, sign, stop))
        {
            sign = Notify(() => service?.Alive(), console) ? sign : Timeout.InfiniteTimeSpan;
        }

        Notify(() => service?.Stopping(), console);
        await server.StopAsync();
        if (!stop.IsCancellationRequested && console.OutputClosed.IsCompleted)
        {
            throw await console.OutputClosed;
        }
    }

    private static async Task<bool> HasEndedAsync(Task end, TimeSpan within, CancellationToken stop)
    {
        await end.WaitAsync(within, stop).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        return end.IsCompleted || stop.IsCancellationRequested;
    }

    // The server still serves if the service manager cannot be notified.
    private static bool Notify(Action notify, ToolConsole console)
    {
        try
        {
            notify();
            return true;
        }
        catch (RpcException e)
        {
            console.WriteError(e.Message);
            return false;
        }
    }
}

/// <summary>One server while a command runs: its schema, and the connection to it.</summary>
internal sealed class ServerSession(
    RpcEndpoint endpoint, RpcClientOptions options, DateTimeOffset? deadline) : IAsyncDisposable
{
    private RpcClient? _client;

    // A client for the message types of replies, with the headers for reflection.
    private RpcClient? _asking;

    public RpcEndpoint Endpoint => endpoint;

    /// <summary>The headers of all that is sent.</summary>
    public RpcMetadata Headers => options.Headers;

    /// <summary>When the command gives up; null for never.</summary>
    public DateTimeOffset? Deadline => deadline;

    /// <summary>The schema that names are looked up in.</summary>
    public RpcSchema Schema { get; set; } = null!;

    /// <summary>How long it took to ask the server for its schema.</summary>
    public TimeSpan SchemaTime { get; private set; }

    /// <summary>How long it took to connect for the call.</summary>
    public TimeSpan ConnectTime { get; private set; }

    /// <summary>Asks the server for its schema.</summary>
    /// <param name="given">The schema that is completed; null for none.</param>
    /// <param name="names">The services, methods and types that are used; empty for all.</param>
    /// <param name="headers">Headers for only these requests, which use a separate connection.</param>
    /// <param name="cancellation">Gives up.</param>
    public async Task AskAsync(
        RpcSchema? given, IReadOnlyList<string> names, RpcMetadata headers, CancellationToken cancellation)
    {
        long start = Stopwatch.GetTimestamp();
        RpcClientOptions asking = headers.Count == 0
            ? options
            : options with { Headers = Joined(options.Headers, headers) };
        RpcClient client = await ConnectAsync(endpoint, given, asking, cancellation);
        try
        {
            RpcCallOptions asked = new() { Deadline = deadline };
            IReadOnlyList<string> symbols = SchemaSymbols.ToAsk(names);
            RpcSchema? part = symbols.Count == 0 ? null : await CallFailedException.GuardAsync(
                () => client.FetchSymbolsAsync(symbols, asked, cancellation), cancellation);
            Schema = part is not null && SchemaSymbols.HasAll(part, names)
                ? part
                : await FetchAsync(client, asked, cancellation);
        }
        catch
        {
            await client.DisposeAsync();
            throw;
        }

        if (headers.Count == 0)
        {
            _client = client;
        }
        else
        {
            _asking = client;
        }

        SchemaTime = Stopwatch.GetElapsedTime(start);
    }

    /// <summary>The client of calls of a service, which belongs to the session.</summary>
    public async Task<RpcClient> ConnectAsync(string service, CancellationToken cancellation)
    {
        long start = Stopwatch.GetTimestamp();
        _client ??= await ConnectAsync(endpoint, Schema, options with { Service = service }, cancellation);
        ConnectTime = Stopwatch.GetElapsedTime(start);
        return _client;
    }

    public async ValueTask DisposeAsync()
    {
        foreach (RpcClient client in new[] { _client, _asking }.OfType<RpcClient>())
        {
            await client.DisposeAsync();
        }
    }

    /// <summary>Connects to a server.</summary>
    /// <exception cref="CallFailedException">That failed.</exception>
    public static Task<RpcClient> ConnectAsync(
        RpcEndpoint endpoint, RpcSchema? schema, RpcClientOptions options, CancellationToken cancellation) =>
        CallFailedException.GuardAsync(
            () => RpcClient.ConnectAsync(endpoint, schema, options, cancellation), cancellation);

    /// <summary>Asks a server for its schema.</summary>
    /// <exception cref="CallFailedException">That failed.</exception>
    public static Task<RpcSchema> FetchAsync(
        RpcClient client, RpcCallOptions? options, CancellationToken cancellation) =>
        CallFailedException.GuardAsync(() => client.FetchSchemaAsync(options, cancellation), cancellation);

    private static RpcMetadata Joined(RpcMetadata first, RpcMetadata second)
    {
        RpcMetadata all = new();
        foreach ((string name, object value) in first.Concat(second))
        {
            if (value is byte[] bytes)
            {
                all.Add(name, bytes);
            }
            else
            {
                all.Add(name, (string)value);
            }
        }

        return all;
    }
}

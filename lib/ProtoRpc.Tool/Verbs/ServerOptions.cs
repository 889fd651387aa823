using System.CommandLine;

namespace ProtoRpc.Tool.Verbs;

/// <summary>The options of the verbs that ask one server: how it is reached, and where its schema
/// is.</summary>
internal sealed class ServerOptions
{
    private readonly Option<bool> _useReflection = new("--use-reflection")
    {
        Description = "Also asks the server for its schema where --schema is given, which then adds to it.",
    };

    private readonly SchemaOptions _schema;
    private readonly CallOptions _call;

    public ServerOptions(Command command)
    {
        _schema = new SchemaOptions(command, required: false);
        command.Add(_useReflection);
        _call = new CallOptions(command);
        Connecting = new ConnectOptions(command, reflects: true);
    }

    public ConnectOptions Connecting { get; }

    /// <summary>How long the whole command may take; null for as long as its call may.</summary>
    public TimeSpan? MaxTime(ParseResult parsed) => _call.MaxTime(parsed);

    /// <summary>Whether --schema is given.</summary>
    public bool HasSchema(ParseResult parsed) => _schema.IsGiven(parsed);

    /// <summary>The schema of --schema; null where it is not given.</summary>
    public RpcSchema? GivenSchema(ParseResult parsed, ToolConsole console) =>
        _schema.LoadIfGiven(parsed, console);

    /// <summary>Finds the schema of a server: that of --schema, that of its registered name, or the one
    /// that it sends.</summary>
    /// <exception cref="UsageException">The server cannot be asked, and --schema is not given.</exception>
    /// <exception cref="CallFailedException">The server does not send its schema.</exception>
    public async Task<ServerSession> BeginAsync(
        ParseResult parsed, ToolTarget target, ToolConsole console, CancellationToken cancellation)
    {
        RpcSchema? given = GivenSchema(parsed, console) ?? target.LoadSchema(console);
        RpcEndpoint endpoint = target.Endpoint;
        RpcClientOptions options =
            Connecting.Apply(parsed, target, _call.ClientOptions(parsed, service: null), console);
        DateTimeOffset? deadline = MaxTime(parsed) is { } time ? DateTimeOffset.UtcNow + time : null;
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

        await session.AskAsync(given, Connecting.Headers.OfReflection(parsed, console), cancellation);
        return session;
    }

    /// <summary>The options of a client without a schema.</summary>
    public RpcClientOptions ClientOptions(
        ParseResult parsed, ToolTarget target, string? service, ToolConsole console) =>
        Connecting.Apply(parsed, target, _call.ClientOptions(parsed, service), console);
}

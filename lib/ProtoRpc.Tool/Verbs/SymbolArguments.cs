using System.CommandLine;

namespace ProtoRpc.Tool.Verbs;

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

        await using ServerSession session = await _server.BeginAsync(parsed, target, console, cancellation);
        return (session.Schema, symbols);
    }

    /// <summary>The server and the symbols; no server where --schema says all.</summary>
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

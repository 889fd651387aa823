using System.CommandLine;

namespace ProtoRpc.Tool.Verbs;

/// <summary>Where a verb serves, and which services.</summary>
internal sealed class ServedArguments
{
    private readonly Argument<string[]> _endpoints = new("ENDPOINT")
    {
        Description = "Where to listen, by any protocol; several are served together, and port 0 is a free "
            + "one. A registered name means its endpoint.",
        Arity = ArgumentArity.OneOrMore,
    };

    private readonly Option<string[]> _services = new("--service")
    {
        Description = "A service to serve; may be repeated. All of the schema where none is given.",
        HelpName = "NAME",
    };

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

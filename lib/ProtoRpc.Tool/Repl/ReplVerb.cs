using System.CommandLine;
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
        Option<string?> service = new("--service")
        {
            Description = "The service to use at first.",
            HelpName = "NAME",
        };
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
            ToolTarget target =
                connectOptions.FindTarget(parsed, parsed.GetRequiredValue(endpoint), console);
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

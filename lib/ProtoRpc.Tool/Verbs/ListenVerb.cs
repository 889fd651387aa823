using System.CommandLine;

namespace ProtoRpc.Tool.Verbs;

/// <summary><c>protorpc listen</c>: serves services with replies, templates or programs, and prints who calls
/// what.</summary>
internal static class ListenVerb
{
    public static Command Create(ToolConsole console)
    {
        Option<Guid?> interfaceId = new("--interface-id")
        {
            Description = "The interface id on native endpoints, where it is not the service's own.",
            HelpName = "GUID",
        };
        Command command = new("listen", "Serves services, prints who calls what, and stops with Ctrl+C.");
        ServedArguments arguments = new(command);
        command.Add(interfaceId);
        AnswerOptions answers = new(command);
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
            RpcServerOptions options =
                listenOptions.ServerOptions(parsed, listening, recorder, console);
            servingOptions.Apply(parsed, options, () => served, console);
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

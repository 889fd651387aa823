namespace ProtoRpc.Tool.Verbs;

/// <summary><c>protorpc proxy</c>: listens on endpoints of any protocol, and passes all calls on to
/// another.</summary>
internal static class ProxyVerb
{
    public const string Name = "proxy";

    public static Command Create(ToolConsole console)
    {
        Argument<string[]> endpoints = new("ENDPOINT")
        {
            Description = "Where to listen, one or several; port 0 takes a free one. The last is the server "
                + "that calls are passed on to. Each may be a registered name.",
            Arity = ArgumentArity.OneOrMore,
        };
        ToolOption<string[]> services = new(
            "--service", "NAME",
            "A service to pass on; may be repeated. All of the schema where none is given.");
        ToolOption<string[]> forwarded = new(
            "--forward-header", "NAME",
            "A header that passes although it is a credential, as authorization; with * for parts of "
            + "names; may be repeated.");
        ToolOption<string[]> blocked = new(
            "--block-header", "NAME",
            "A header that does not pass; with * for parts of names; may be repeated.");
        Command command = new(Name, "Passes calls on to another server, until Ctrl+C.")
        {
            endpoints, services, forwarded, blocked,
        };
        SchemaOptions schemaOptions = new(command, required: false);
        CallOptions callOptions = new(command);
        ConnectOptions connectOptions = new(command);
        ListenOptions listenOptions = new(command, "listen-");

        command.SetAction(async (parsed, cancellation) =>
        {
            string[] given = parsed.GetRequiredValue(endpoints);
            if (given.Length < 2)
            {
                throw new UsageException(
                    "Give the endpoints to listen on, and behind them the one to pass calls on to: "
                    + "protorpc proxy http://127.0.0.1:8080 tcp://old:1234 --schema old.proto.");
            }

            RpcEndpoint[] listening =
                [.. given[..^1].Select(text => ToolTarget.Find(text, console).Endpoint)];
            ToolTarget target = connectOptions.FindTarget(parsed, given[^1], console);
            string[] names = parsed.GetValue(services) ?? [];
            RpcGatewayOptions options = new()
            {
                ForwardHeaders = parsed.GetValue(forwarded) ?? [],
                BlockHeaders = parsed.GetValue(blocked) ?? [],
            };
            RpcSchema? schema = schemaOptions.LoadIfGiven(parsed, console) ?? target.LoadSchema(console);
            using RpcCallRecorder? recorder = listenOptions.OpenRecorder(parsed, console);
            RpcServerOptions serverOptions =
                listenOptions.ServerOptions(parsed, listening, recorder, console);
            RpcClientOptions clientOptions = connectOptions.Apply(
                parsed, target, callOptions.ClientOptions(parsed, names.FirstOrDefault()), console);
            await using RpcClient client =
                await ConnectAsync(target.Endpoint, schema, clientOptions, cancellation);
            await using RpcServer server = RpcGateway.Create(client, options, serverOptions, names);
            ListenOptions.WarnOfMasks(recorder, server, console);
            Array.ForEach(listening, endpoint => server.AddEndpoint(endpoint));
            await ServingRun.RunAsync(server, running => What(running, client), console, cancellation);
            return ExitCode.Success;
        });
        return command;
    }

    private static async Task<RpcClient> ConnectAsync(
        RpcEndpoint target, RpcSchema? schema, RpcClientOptions options, CancellationToken cancellation)
    {
        if (schema is null && !target.Has(EndpointFeatures.Reflection))
        {
            throw new UsageException(
                $"'{target}' cannot be asked for its schema. Give the .proto files with --schema.");
        }

        RpcClient? client = null;
        try
        {
            // The client looks up a service in a schema. With reflection, the schema is only available after
            // connecting.
            client = await RpcClient.ConnectAsync(
                target, schema, schema is null ? options with { Service = null } : options, cancellation);
            if (schema is null)
            {
                await client.FetchSchemaAsync(cancellationToken: cancellation);
            }

            return client;
        }
        catch (RpcException e)
        {
            client?.Dispose();
            throw new CallFailedException(e);
        }
    }

    private static string What(RpcServer server, RpcClient client) =>
        $"Passing {string.Join(", ", server.Services.Select(service => service.Key.FullName))} on to "
        + $"{client.Endpoint}.";
}

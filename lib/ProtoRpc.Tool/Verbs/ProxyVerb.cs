using System.CommandLine;
using System.Runtime.CompilerServices;

namespace ProtoRpc.Tool.Verbs;

/// <summary><c>protorpc proxy</c>: listens on endpoints of any protocol, and passes all calls on to
/// another.</summary>
internal static class ProxyVerb
{
    public static Command Create(ToolConsole console)
    {
        Argument<string[]> endpoints = new("ENDPOINT")
        {
            Description = "Where to listen, one or several; port 0 takes a free one. The last is the server "
                + "that calls are passed on to.",
            Arity = ArgumentArity.OneOrMore,
        };
        Option<string[]> services = new("--service")
        {
            Description = "A service to pass on; may be repeated. All of the schema where none is given.",
            HelpName = "NAME",
        };
        Option<string[]> forwarded = new("--forward-header")
        {
            Description = "A header that passes although it is a credential, as authorization; with * for "
                + "parts of names; may be repeated.",
            HelpName = "NAME",
        };
        Option<string[]> blocked = new("--block-header")
        {
            Description = "A header that does not pass; with * for parts of names; may be repeated.",
            HelpName = "NAME",
        };
        Command command = new("proxy", "Passes calls on to another server, until Ctrl+C.")
        {
            endpoints, services, forwarded, blocked,
        };
        SchemaOptions schemaOptions = new(command, required: false);
        CallOptions callOptions = new(command);

        command.SetAction(async (parsed, cancellation) =>
        {
            string[] given = parsed.GetRequiredValue(endpoints);
            if (given.Length < 2)
            {
                throw new UsageException(
                    "Give the endpoints to listen on, and behind them the one to pass calls on to: "
                    + "protorpc proxy http://127.0.0.1:8080 tcp://old:1234 --schema old.proto.");
            }

            RpcEndpoint[] listening = [.. given[..^1].Select(RpcEndpoint.Parse)];
            string[] names = parsed.GetValue(services) ?? [];
            RpcGatewayOptions options = new()
            {
                ForwardHeaders = parsed.GetValue(forwarded) ?? [],
                BlockHeaders = parsed.GetValue(blocked) ?? [],
            };
            await using RpcClient client = await ConnectAsync(
                RpcEndpoint.Parse(given[^1]), schemaOptions.LoadIfGiven(parsed),
                callOptions.ClientOptions(parsed, names.FirstOrDefault()), cancellation);
            await using RpcServer server = Create(listening, client, options, names);
            Array.ForEach(listening, endpoint => server.AddEndpoint(endpoint));
            server.StartListening();
            foreach (RpcEndpoint endpoint in server.Endpoints)
            {
                console.WriteLine($"Listening on {endpoint}");
            }

            console.WriteLine(
                $"Passing {string.Join(", ", server.Services.Select(service => service.Key.FullName))} on to "
                + $"{client.Endpoint}. Press Ctrl+C to stop.");
            await server.Completion.WaitAsync(cancellation)
                .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            await server.StopAsync();
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
            // A service is looked up in a schema, which a server that is asked tells later.
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

    private static RpcServer Create(
        RpcEndpoint[] listening, RpcClient client, RpcGatewayOptions options, string[] services)
    {
        RpcServerOptions serverOptions = new();
        if (listening.Any(endpoint => endpoint.Has(EndpointFeatures.AspNetCore)))
        {
            serverOptions = WithHttp(serverOptions);
        }

        return RpcGateway.Create(client, options, serverOptions, services);
    }

    // On its own: ASP.NET Core is loaded only with this.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static RpcServerOptions WithHttp(RpcServerOptions options) => options.WithHttp();
}

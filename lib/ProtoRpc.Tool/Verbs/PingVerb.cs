using System.CommandLine;
using System.Globalization;

namespace ProtoRpc.Tool.Verbs;

/// <summary><c>protorpc ping</c>: whether a server answers, how fast, and what it says of itself.</summary>
internal static class PingVerb
{
    public static Command Create(ToolConsole console)
    {
        Argument<string> endpoint = new("ENDPOINT")
        {
            Description = "Where the server is, or a registered name.",
        };
        Option<string?> service = new("--service")
        {
            Description = "The service that the server must have.",
            HelpName = "NAME",
        };
        Command command = new("ping", "Asks a server whether it is there.") { endpoint, service };
        WatchOptions watch = new(command);
        SchemaOptions schemaOptions = new(command, required: false);
        CallOptions callOptions = new(command);
        ConnectOptions connectOptions = new(command);

        command.SetAction((parsed, cancellation) =>
        {
            ToolTarget target =
                connectOptions.FindTarget(parsed, parsed.GetRequiredValue(endpoint), console);
            RpcSchema? schema = schemaOptions.LoadIfGiven(parsed, console) ?? target.LoadSchema(console);
            RpcClientOptions options = connectOptions.Apply(
                parsed, target, callOptions.ClientOptions(parsed, parsed.GetValue(service)), console);
            RpcPingOptions ping = new()
            {
                Timeout = callOptions.Deadline(parsed),
                // Without a schema, a service has no interface to bind to: the server is asked by its name.
                Service = schema is null ? options.Service : null,
            };
            options = schema is null ? options with { Service = null } : options;

            return watch.RunAsync(
                parsed,
                async token => Describe(await PingAsync(target.Endpoint, schema, options, ping, token)),
                console,
                cancellation);
        });
        return command;
    }

    private static Task<RpcPingResult> PingAsync(
        RpcEndpoint endpoint, RpcSchema? schema, RpcClientOptions options, RpcPingOptions ping,
        CancellationToken cancellation) => CallFailedException.GuardAsync(
        async () =>
        {
            await using RpcClient client =
                await RpcClient.ConnectAsync(endpoint, schema, options, cancellation);
            return await client.PingAsync(ping, cancellation);
        },
        cancellation);

    private static string Describe(RpcPingResult result)
    {
        string latency = result.Latency.TotalMilliseconds.ToString("0.###", CultureInfo.InvariantCulture);
        string text = $"{result.Endpoint} answered in {latency} ms";
        if (result.Product.Length > 0)
        {
            text += $"; {result.Product} {result.Version}".TrimEnd();
        }

        if (result.Health.Length > 0)
        {
            text += $"; health {result.Health}";
        }

        if (result.Services.Count > 0)
        {
            text += $"; serves {string.Join(", ", result.Services)}";
        }

        return result.Uptime is TimeSpan uptime
            ? $"{text}; up for {uptime.ToString(@"d\.hh\:mm\:ss", CultureInfo.InvariantCulture)}"
            : text;
    }
}

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
            Description = "The service to bind to, where the schema has several.",
            HelpName = "NAME",
        };
        Command command = new("ping", "Asks a server whether it is there.") { endpoint, service };
        SchemaOptions schemaOptions = new(command, required: false);
        CallOptions callOptions = new(command);
        ConnectOptions connectOptions = new(command);

        command.SetAction((parsed, cancellation) =>
        {
            ToolTarget target = ToolTarget.Find(parsed.GetRequiredValue(endpoint), console);
            RpcSchema? schema = schemaOptions.LoadIfGiven(parsed) ?? target.LoadSchema();
            RpcClientOptions options = connectOptions.Apply(
                parsed, target, callOptions.ClientOptions(parsed, parsed.GetValue(service)), console);

            RpcPingResult result = CallFailedException.Guard(() =>
            {
                using RpcClient client = RpcClient.Connect(target.Endpoint, schema, options, cancellation);
                return client.Ping(new() { Timeout = callOptions.Deadline(parsed) }, cancellation);
            });
            console.WriteLine(Describe(result));
            return Task.FromResult(ExitCode.Success);
        });
        return command;
    }

    private static string Describe(RpcPingResult result)
    {
        string latency = result.Latency.TotalMilliseconds.ToString("0.###", CultureInfo.InvariantCulture);
        string text = $"{result.Endpoint} answered in {latency} ms";
        if (result.Product.Length > 0)
        {
            text += $"; {result.Product} {result.Version}".TrimEnd();
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

using System.Globalization;

namespace ProtoRpc.Tool.Verbs;

/// <summary><c>protorpc ping</c>: shows whether a server replies, its latency, and its product, version and
/// services.</summary>
internal static class PingVerb
{
    public static Command Create(ToolConsole console)
    {
        Argument<string> endpoint = new("ENDPOINT")
        {
            Description = "Where the server is, or a registered name.",
        };
        ToolOption<string?> service = new("--service", "NAME", "The service that the server must have.");
        Command command = new("ping", "Asks a server whether it is there.") { endpoint, service };
        WatchOptions watch = new(command);
        SchemaOptions schemaOptions = new(command, required: false);
        CallOptions callOptions = new(command);
        ConnectOptions connectOptions = new(command);

        command.SetAction((parsed, cancellation) =>
        {
            ToolTarget target = connectOptions.FindTarget(parsed, parsed.GetRequiredValue(endpoint), console);
            RpcSchema? schema = schemaOptions.LoadIfGiven(parsed, console) ?? target.LoadSchema(console);
            RpcClientOptions options = connectOptions.Apply(
                parsed, target, callOptions.ClientOptions(parsed, parsed.GetValue(service)), console);
            RpcPingOptions ping = new()
            {
                Timeout = callOptions.Deadline(parsed),
                // Without a schema, the interface of the service is unknown, so the ping sends the service's
                // name.
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

        if (result.Refusal is { } refusal)
        {
            text += $"; it rejects this caller ({refusal}), so it reports no version or uptime";
        }
        else if (!result.IsProtoRpc)
        {
            text += "; not a server of ProtoRpc, so it reports no version or uptime";
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

/// <summary>The options of verbs that can ask again and again.</summary>
internal sealed class WatchOptions
{
    private const double MaxSeconds = 86_400;

    private readonly ToolFlag _watch = new("--watch", "Asks again and again, until Ctrl+C.", "-w");

    private readonly ToolOption<double> _interval = new(
        "--interval", "SECONDS", "Seconds between two questions of --watch.")
    {
        DefaultValueFactory = _ => 1,
        CustomParser = SecondsArgument.Parse,
    };

    public WatchOptions(Command command)
    {
        command.Add(_watch);
        command.Add(_interval);
    }

    /// <summary>Pings once, or until Ctrl+C. With --watch, a server that does not reply is a line on standard
    /// error.</summary>
    /// <returns>The exit code of the last ping.</returns>
    public async Task<int> RunAsync(
        ParseResult parsed, Func<CancellationToken, Task<string>> ask, ToolConsole console,
        CancellationToken cancellation)
    {
        if (!parsed.GetValue(_watch))
        {
            console.WriteLine(await ask(cancellation));
            return ExitCode.Success;
        }

        int code = ExitCode.Success;
        using PeriodicTimer timer = new(Interval(parsed));
        try
        {
            do
            {
                try
                {
                    console.WriteLine(await ask(cancellation));
                    code = ExitCode.Success;
                }
                catch (CallFailedException e)
                {
                    ErrorOutput.Write(console, e);
                    code = ExitCode.OfCall(e.Code);
                }
            }
            while (await timer.WaitForNextTickAsync(cancellation));
        }
        catch (OperationCanceledException) when (cancellation.IsCancellationRequested)
        {
            // The user ended the command with Ctrl+C.
        }

        return code;
    }

    private TimeSpan Interval(ParseResult parsed) =>
        parsed.GetValue(_interval) is >= 0.01 and <= MaxSeconds and var seconds
            ? TimeSpan.FromSeconds(seconds)
            : throw new UsageException($"--interval must be from 0.01 to {MaxSeconds:0} seconds.");
}

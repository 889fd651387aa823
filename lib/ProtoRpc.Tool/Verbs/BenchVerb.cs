using System.CommandLine;

namespace ProtoRpc.Tool.Verbs;

/// <summary><c>protorpc bench</c>: calls a method many times, and prints calls a second and
/// latencies.</summary>
internal static class BenchVerb
{
    private const double DefaultSeconds = 10;
    private const double DefaultWarmUp = 1;

    public static Command Create(ToolConsole console)
    {
        Argument<string> endpoint = new("ENDPOINT")
        {
            Description = "Where the service is, as ncacn_ip_tcp:host[8080] or grpc://host:50051, or a "
                + "registered name.",
        };
        Argument<string> methodName = new("METHOD")
        {
            Description = "The method: Method, Service/Method or package.Service/Method.",
        };
        Option<string[]> further = new("--endpoint")
        {
            Description = "A further endpoint, called in turns with the first one; may be repeated.",
            HelpName = "ENDPOINT",
        };
        Command command = new("bench", "Calls a method many times, and prints calls/s and latencies.")
        {
            endpoint, methodName, further,
        };
        BenchOptions benchOptions = new(command);
        BenchRequests requests = new(command);
        SchemaOptions schemaOptions = new(command, required: false);
        CallOptions callOptions = new(command);
        ConnectOptions connectOptions = new(command);

        command.SetAction(async (parsed, cancellation) =>
        {
            ToolTarget[] targets =
            [
                .. (parsed.GetValue(further) ?? []).Prepend(parsed.GetRequiredValue(endpoint))
                    .Select(text => connectOptions.FindTarget(parsed, text, console)),
            ];
            RpcSchema? given = schemaOptions.LoadIfGiven(parsed);
            RpcLoadOptions options = benchOptions.ToOptions(parsed, callOptions.Deadline(parsed));
            int connections = benchOptions.Connections(parsed);
            List<RpcClient> clients = [];
            List<RpcLoadTarget> tested = [];
            try
            {
                foreach (ToolTarget target in targets)
                {
                    RpcSchema? schema = given ?? target.LoadSchema();
                    string name = target.FullNameOf(parsed.GetRequiredValue(methodName));
                    RpcClientOptions clientOptions = connectOptions.Apply(
                        parsed, target,
                        callOptions.ClientOptions(parsed, schema?.GetMethod(name).Service.FullName), console);
                    clientOptions.RetryCount = 0;
                    clientOptions.Limits.MaxClientConnections = Math.Max(
                        clientOptions.Limits.MaxClientConnections, options.Concurrency);
                    int first = clients.Count;
                    for (int i = 0; i < connections; i++)
                    {
                        RpcClient client = await ServerSession.ConnectAsync(
                            target.Endpoint, schema, clientOptions, cancellation);
                        clients.Add(client);
                        schema ??= client.Schema
                            ?? await ServerSession.FetchAsync(client, null, cancellation);
                    }

                    RpcMethodInfo method = clients[first].GetMethod(name);
                    tested.Add(new(
                        target.Named?.Name ?? target.Endpoint.ToString(), clients[first..], method,
                        requests.Read(parsed, method, console.Input)));
                }

                IReadOnlyList<RpcLoadResult> results =
                    await new RpcLoadTest(tested, options).RunAsync(cancellation);
                return Report(console, results, benchOptions.IsJson(parsed));
            }
            finally
            {
                // At the same time: whoever presses Ctrl+C waits for all of them.
                await Task.WhenAll(clients.Select(client => client.DisposeAsync().AsTask()));
            }
        });
        return command;
    }

    /// <summary>Seconds where neither seconds nor calls are given.</summary>
    internal static TimeSpan DefaultDuration => TimeSpan.FromSeconds(DefaultSeconds);

    /// <summary>Seconds of warm-up where calls are not counted exactly.</summary>
    internal static TimeSpan DefaultWarmUpTime => TimeSpan.FromSeconds(DefaultWarmUp);

    private static int Report(ToolConsole console, IReadOnlyList<RpcLoadResult> results, bool asJson)
    {
        if (results is [{ Error: { } error }])
        {
            throw new CallFailedException(error);
        }

        if (asJson)
        {
            console.WriteLine(JsonText.Write(
                results.Count == 1 ? ToJson(results[0]) : results.Select(ToJson).ToList()));
        }
        else
        {
            console.WriteLine(string.Join("\n\n", results.Select(result => result.Error is { } failed
                ? $"{result.Endpoint} {result.Method}\n  {failed.Code}: {failed.Message}"
                : result.ToText())));
        }

        RpcStatusCode? status = results.Select(result =>
            result.Error?.Code ?? (result.Errors.Count > 0 ? result.Errors[0].Status : null))
            .FirstOrDefault(code => code is not null);
        return status is { } code ? ExitCode.OfCall(code) : ExitCode.Success;
    }

    private static Dictionary<string, object?> ToJson(RpcLoadResult result) => new()
    {
        ["endpoint"] = result.Endpoint,
        ["method"] = result.Method,
        ["concurrency"] = result.Concurrency,
        ["connections"] = result.Connections,
        ["rate"] = result.Rate,
        ["seconds"] = result.Elapsed.TotalSeconds,
        ["calls"] = result.Calls,
        ["succeeded"] = result.Succeeded,
        ["failed"] = result.Failed,
        ["late"] = result.Late,
        ["notSent"] = result.NotSent,
        ["callsPerSecond"] = result.CallsPerSecond,
        ["messagesSent"] = result.MessagesSent,
        ["messagesReceived"] = result.MessagesReceived,
        ["bytesSentPerSecond"] = result.BytesSentPerSecond,
        ["bytesReceivedPerSecond"] = result.BytesReceivedPerSecond,
        ["latencyMilliseconds"] = new Dictionary<string, object?>
        {
            ["min"] = result.Min,
            ["mean"] = result.Mean,
            ["p50"] = result.P50,
            ["p90"] = result.P90,
            ["p99"] = result.P99,
            ["p99.9"] = result.P999,
            ["max"] = result.Max,
        },
        ["histogram"] = result.Histogram.Select(bucket => new Dictionary<string, object?>
        {
            ["from"] = bucket.From.TotalMilliseconds,
            ["to"] = bucket.To.TotalMilliseconds,
            ["count"] = bucket.Count,
        }).ToList(),
        ["errors"] = result.Errors.Select(error => new Dictionary<string, object?>
        {
            ["status"] = error.Status.ToString(),
            ["count"] = error.Count,
            ["first"] = error.First.Message,
        }).ToList(),
        ["stopped"] = result.Stopped ?? result.Error?.Message,
    };
}

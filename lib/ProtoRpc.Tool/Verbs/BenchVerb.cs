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
        Command command = new("bench", "Calls a method many times, and prints calls/s and latencies.")
        {
            endpoint, methodName,
        };
        BenchOptions benchOptions = new(command);
        BenchRequests requests = new(command);
        SchemaOptions schemaOptions = new(command, required: false);
        CallOptions callOptions = new(command);
        ConnectOptions connectOptions = new(command);

        command.SetAction(async (parsed, cancellation) =>
        {
            ToolTarget target =
                connectOptions.FindTarget(parsed, parsed.GetRequiredValue(endpoint), console);
            RpcSchema? given = schemaOptions.LoadIfGiven(parsed) ?? target.LoadSchema();
            string name = target.FullNameOf(parsed.GetRequiredValue(methodName));
            RpcLoadOptions options = benchOptions.ToOptions(parsed, callOptions.Deadline(parsed));
            string? service = given?.GetMethod(name).Service.FullName;
            RpcClientOptions clientOptions = connectOptions.Apply(
                parsed, target, callOptions.ClientOptions(parsed, service), console);
            clientOptions.RetryCount = 0;
            int connections = benchOptions.Connections(parsed);
            clientOptions.Limits.MaxClientConnections = Math.Max(
                clientOptions.Limits.MaxClientConnections, options.Concurrency);

            List<RpcClient> clients = [];
            try
            {
                RpcSchema? schema = given;
                for (int i = 0; i < connections; i++)
                {
                    RpcClient client = await ConnectAsync(
                        target.Endpoint, schema, clientOptions, cancellation);
                    clients.Add(client);
                    schema ??= client.Schema ?? await FetchSchemaAsync(client, cancellation);
                }

                RpcMethodInfo method = clients[0].GetMethod(name);
                RpcLoadTest test = new(
                    [
                        new(target.Named?.Name ?? target.Endpoint.ToString(), clients, method,
                            requests.Read(parsed, method, console.Input)),
                    ],
                    options);
                RpcLoadResult result = (await test.RunAsync(cancellation))[0];
                return Report(console, result, benchOptions.IsJson(parsed));
            }
            finally
            {
                foreach (RpcClient client in clients)
                {
                    await client.DisposeAsync();
                }
            }
        });
        return command;
    }

    /// <summary>Seconds where neither seconds nor calls are given.</summary>
    internal static TimeSpan DefaultDuration => TimeSpan.FromSeconds(DefaultSeconds);

    /// <summary>Seconds of warm-up where calls are not counted exactly.</summary>
    internal static TimeSpan DefaultWarmUpTime => TimeSpan.FromSeconds(DefaultWarmUp);

    private static async Task<RpcClient> ConnectAsync(
        RpcEndpoint address, RpcSchema? schema, RpcClientOptions options, CancellationToken cancellation)
    {
        try
        {
            return await RpcClient.ConnectAsync(address, schema, options, cancellation);
        }
        catch (RpcException e)
        {
            throw new CallFailedException(e);
        }
    }

    private static async Task<RpcSchema> FetchSchemaAsync(RpcClient client, CancellationToken cancellation)
    {
        try
        {
            return await client.FetchSchemaAsync(cancellationToken: cancellation);
        }
        catch (RpcException e)
        {
            throw new CallFailedException(e);
        }
    }

    private static int Report(ToolConsole console, RpcLoadResult result, bool asJson)
    {
        if (result.Error is { } error)
        {
            throw new CallFailedException(error);
        }

        console.WriteLine(asJson ? JsonText.Write(ToJson(result)) : result.ToText());
        return result.Errors.Count > 0 ? ExitCode.OfCall(result.Errors[0].Status) : ExitCode.Success;
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
        ["stopped"] = result.Stopped,
    };
}

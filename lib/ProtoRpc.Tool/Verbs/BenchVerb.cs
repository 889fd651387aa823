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
            RpcSchema? given = schemaOptions.LoadIfGiven(parsed, console);
            RpcLoadOptions options = benchOptions.ToOptions(parsed, callOptions.Deadline(parsed));
            int connections = benchOptions.Connections(parsed);
            List<RpcClient> clients = [];
            List<RpcLoadTarget> tested = [];
            try
            {
                foreach (ToolTarget target in targets)
                {
                    RpcSchema? schema = given ?? target.LoadSchema(console);
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
                int code = BenchReport.Write(console, results, benchOptions.IsJson(parsed));
                return cancellation.IsCancellationRequested ? ExitCode.Stopped : code;
            }
            finally
            {
                // At the same time, because Ctrl+C waits for all of them.
                await Task.WhenAll(clients.Select(client => client.DisposeAsync().AsTask()));
            }
        });
        return command;
    }

    /// <summary>Seconds where neither seconds nor calls are given.</summary>
    internal static TimeSpan DefaultDuration => TimeSpan.FromSeconds(DefaultSeconds);

    /// <summary>Seconds of warm-up where calls are not counted exactly.</summary>
    internal static TimeSpan DefaultWarmUpTime => TimeSpan.FromSeconds(DefaultWarmUp);
}

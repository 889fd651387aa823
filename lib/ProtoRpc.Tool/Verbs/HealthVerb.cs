using ProtoRpc.Protocols.Grpc.Proto;
using Serving = ProtoRpc.Protocols.Grpc.Proto.HealthCheckResponse.Types.ServingStatus;

namespace ProtoRpc.Tool.Verbs;

/// <summary><c>protorpc health</c>: shows the status in the health service of a gRPC server.</summary>
internal static class HealthVerb
{
    private const string Service = "grpc.health.v1.Health";

    public static Command Create(ToolConsole console)
    {
        Argument<string> endpoint = new("ENDPOINT")
        {
            Description = "Where the gRPC server is, or a registered name.",
        };
        Argument<string> name = new("SERVICE")
        {
            Description = "The full name of a service; left out, the server as a whole.",
            DefaultValueFactory = _ => "",
        };
        ToolFlag watch = new("--watch", "Writes each change, until Ctrl+C.", "-w");
        Command command = new("health", "Asks the health service of a gRPC server.")
        {
            endpoint, name, watch,
        };
        CallOptions callOptions = new(command);
        ConnectOptions connectOptions = new(command);

        command.SetAction(async (parsed, cancellation) =>
        {
            ToolTarget target = connectOptions.FindTarget(parsed, parsed.GetRequiredValue(endpoint), console);
            if (!target.Endpoint.IsGrpc)
            {
                throw new UsageException(
                    $"'{target.Endpoint}' is not a gRPC endpoint, and only gRPC servers have a health "
                    + "service. To test another server, use 'protorpc ping'.");
            }

            RpcClientOptions options = connectOptions.Apply(
                parsed, target, callOptions.ClientOptions(parsed, service: null), console);
            await using RpcClient client = await CallFailedException.GuardAsync(
                () => RpcClient.ConnectAsync(
                    target.Endpoint, options with { Service = null, InterfaceId = null }, cancellation),
                cancellation);
            HealthCheckRequest request = new() { Service = parsed.GetValue(name) };
            return parsed.GetValue(watch)
                ? await WatchAsync(client, request, console, cancellation)
                : Report(
                    await CheckAsync(client, request, callOptions.Deadline(parsed), cancellation), console);
        });
        return command;
    }

    private static Task<HealthCheckResponse> CheckAsync(
        RpcClient client, HealthCheckRequest request, TimeSpan deadline, CancellationToken cancellation) =>
        CallFailedException.GuardAsync(
            () => client.InvokeAsync<HealthCheckResponse>(
                $"{Service}/Check", request, new() { Timeout = deadline }, cancellation),
            cancellation);

    private static async Task<int> WatchAsync(
        RpcClient client, HealthCheckRequest request, ToolConsole console, CancellationToken cancellation)
    {
        int code = ExitCode.NotServing;
        try
        {
            await foreach (HealthCheckResponse reply in client.InvokeServerStreamAsync<HealthCheckResponse>(
                $"{Service}/Watch", request, cancellationToken: cancellation))
            {
                code = Report(reply, console);
            }
        }
        catch (Exception e) when (
            cancellation.IsCancellationRequested && e is RpcException or OperationCanceledException)
        {
            // The user ended the command with Ctrl+C.
        }
        catch (RpcException e)
        {
            throw new CallFailedException(e);
        }

        return code;
    }

    private static int Report(HealthCheckResponse reply, ToolConsole console)
    {
        // A status that this version does not define is written as a number.
        console.WriteLine(HealthCheckResponse.Descriptor.EnumTypes[0]
            .FindValueByNumber((int)reply.Status)?.Name ?? $"{(int)reply.Status}");
        return reply.Status == Serving.Serving ? ExitCode.Success : ExitCode.NotServing;
    }
}

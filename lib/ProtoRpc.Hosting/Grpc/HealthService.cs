using Google.Protobuf;
using ProtoRpc.Protocols.Grpc.Proto;
using ProtoRpc.Server;
using Status = ProtoRpc.Protocols.Grpc.Proto.HealthCheckResponse.Types.ServingStatus;

namespace ProtoRpc.Hosting.Grpc;

/// <summary>Tells balancers and probes that the services of an endpoint are served, until it stops.</summary>
internal sealed class HealthService
{
    private static readonly RpcServiceInfo Info =
        RpcSchema.FromDescriptors(HealthReflection.Descriptor).GetService("grpc.health.v1.Health");

    private readonly HashSet<string> _services;
    private readonly TaskCompletionSource _stopping = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <param name="services">What is served beside it.</param>
    public HealthService(IEnumerable<ServerService> services)
    {
        _services = [.. services.Select(s => s.Info.FullName), Info.FullName, ""];
        MessageParser<HealthCheckRequest> parser = new(() => new HealthCheckRequest());
        Service = new ServerService(Info, Guid.Empty);
        Service.Add(new ServerMethod(Info.FindMethod("Check")!, CheckAsync, parser));
        Service.Add(new ServerMethod(Info.FindMethod("Watch")!, WatchAsync, parser));
    }

    public ServerService Service { get; }

    /// <summary>Tells those who watch that the end comes, and ends their calls.</summary>
    public void Stop() => _stopping.TrySetResult();

    private Status Now => _stopping.Task.IsCompleted ? Status.NotServing : Status.Serving;

    private ValueTask<IMessage> CheckAsync(RpcServerCallContext context, IMessage request)
    {
        string service = ((HealthCheckRequest)request).Service;
        return _services.Contains(service)
            ? ValueTask.FromResult<IMessage>(new HealthCheckResponse { Status = Now })
            : throw new RpcException(RpcStatusCode.NotFound, $"'{service}' is not served here.");
    }

    // A service that is not there now is never there: what a listener serves does not change.
    private async ValueTask WatchAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        bool known = await stream.ReadAsync().ConfigureAwait(false) is HealthCheckRequest request
            && _services.Contains(request.Service);
        await stream.WriteAsync(
            new HealthCheckResponse { Status = known ? Now : Status.ServiceUnknown }).ConfigureAwait(false);
        await _stopping.Task.WaitAsync(context.CancellationToken).ConfigureAwait(false);
        if (known)
        {
            await stream.WriteAsync(
                new HealthCheckResponse { Status = Status.NotServing }).ConfigureAwait(false);
        }
    }
}

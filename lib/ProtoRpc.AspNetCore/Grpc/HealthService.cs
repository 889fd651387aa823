using Microsoft.Extensions.Diagnostics.HealthChecks;
using ProtoRpc.Protocols.Grpc.Proto;
using ProtoRpc.Server;
using Status = ProtoRpc.Protocols.Grpc.Proto.HealthCheckResponse.Types.ServingStatus;

namespace ProtoRpc.AspNetCore.Grpc;

/// <summary>Reports to load balancers and probes that an endpoint serves, until it stops.</summary>
internal sealed class HealthService
{
    private static readonly RpcServiceInfo Info =
        RpcSchema.FromDescriptors(HealthReflection.Descriptor).GetService("grpc.health.v1.Health");

    private readonly HealthReports? _reports;
    private readonly HashSet<string> _services;
    private readonly TaskCompletionSource _stopping = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <param name="services">The services of the listener.</param>
    /// <param name="reports">The health checks of the application; null for none.</param>
    public HealthService(IEnumerable<ServerService> services, HealthReports? reports = null)
    {
        _reports = reports;
        _services = [.. services.Select(s => s.Info.FullName), Info.FullName, ""];
        MessageParser<HealthCheckRequest> parser = new(() => new HealthCheckRequest());
        Service = new ServerService(Info, Guid.Empty);
        Service.Add(new ServerMethod(Info.FindMethod("Check")!, CheckAsync, parser)
        {
            IsAlwaysAdmitted = true,
        });
        Service.Add(new ServerMethod(Info.FindMethod("Watch")!, WatchAsync, parser)
        {
            IsAlwaysAdmitted = true,
        });
    }

    public ServerService Service { get; }

    /// <summary>Reports NOT_SERVING to watching clients, and ends their calls.</summary>
    public void Stop() => _stopping.TrySetResult();

    private async ValueTask<IMessage> CheckAsync(RpcServerCallContext context, IMessage request)
    {
        string service = ((HealthCheckRequest)request).Service;
        return _services.Contains(service)
            ? new HealthCheckResponse
            {
                Status = StatusOf(
                    _reports is null
                    || await _reports.CheckAsync(service, _services, context.CancellationToken)
                        .ConfigureAwait(false)),
            }
            : throw new RpcException(RpcStatusCode.NotFound, $"This listener has no service '{service}'.");
    }

    // The services of a listener do not change, so an unknown service stays unknown.
    private async ValueTask WatchAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        string? service = await stream.ReadAsync().ConfigureAwait(false) is HealthCheckRequest request
            && _services.Contains(request.Service)
            ? request.Service
            : null;
        Status sent = Status.Unknown;
        do
        {
            Status now = service is null
                ? Status.ServiceUnknown
                : StatusOf(
                    _reports is null
                    || await _reports.LastAsync(service, _services, context.CancellationToken)
                        .ConfigureAwait(false));
            if (now != sent)
            {
                sent = now;
                await stream.WriteAsync(new HealthCheckResponse { Status = now }).ConfigureAwait(false);
            }
        }
        while (!await IsStoppedAsync(service is null ? null : _reports, context.CancellationToken)
            .ConfigureAwait(false));

        if (service is not null && sent != Status.NotServing)
        {
            await stream.WriteAsync(
                new HealthCheckResponse { Status = Status.NotServing }).ConfigureAwait(false);
        }
    }

    private Status StatusOf(bool isHealthy) =>
        isHealthy && !_stopping.Task.IsCompleted ? Status.Serving : Status.NotServing;

    // Waits until the listener stops, or until the next check.
    private async ValueTask<bool> IsStoppedAsync(HealthReports? reports, CancellationToken cancellation)
    {
        try
        {
            await _stopping.Task.WaitAsync(reports?.Period ?? Timeout.InfiniteTimeSpan, cancellation)
                .ConfigureAwait(false);
            return true;
        }
        catch (TimeoutException)
        {
            return false;
        }
    }
}

/// <summary>Reports the health of services from the health checks of an application. A check whose tags name
/// a service belongs to that service; a check without such tags belongs to all.</summary>
internal sealed class HealthReports(HealthCheckService checks, TimeSpan period)
{
    private readonly Lock _gate = new();
    private Task<HealthReport>? _last;
    private long _since;

    /// <summary>The maximum age of a report while a client watches.</summary>
    public TimeSpan Period => period;

    /// <summary>Whether a service is healthy now: runs its checks.</summary>
    /// <param name="service">The service; empty for all together.</param>
    /// <param name="services">All services.</param>
    /// <param name="cancellation">Ends the checks.</param>
    public async ValueTask<bool> CheckAsync(
        string service, IReadOnlySet<string> services, CancellationToken cancellation)
    {
        HealthReport report = await checks.CheckHealthAsync(
            check => IsOf(check.Tags, service, services), cancellation).ConfigureAwait(false);
        return report.Status != HealthStatus.Unhealthy;
    }

    /// <summary>Whether a service was healthy in this period: the checks run once for all watchers.</summary>
    /// <param name="service">The service; empty for all together.</param>
    /// <param name="services">All services.</param>
    /// <param name="cancellation">Ends the wait.</param>
    public async ValueTask<bool> LastAsync(
        string service, IReadOnlySet<string> services, CancellationToken cancellation)
    {
        HealthReport report = await Last().WaitAsync(cancellation).ConfigureAwait(false);
        return report.Entries.Values
            .Where(entry => IsOf(entry.Tags, service, services))
            .All(entry => entry.Status != HealthStatus.Unhealthy);
    }

    private Task<HealthReport> Last()
    {
        lock (_gate)
        {
            // Half the period, because timers of clients that watch may fire slightly early or late.
            long now = Environment.TickCount64;
            if (_last is null || (_last.IsCompleted && now - _since >= period.TotalMilliseconds / 2))
            {
                _since = now;
                _last = checks.CheckHealthAsync(CancellationToken.None);
            }

            return _last;
        }
    }

    private static bool IsOf(IEnumerable<string> tags, string service, IReadOnlySet<string> services) =>
        service.Length == 0
        || tags.Contains(service, StringComparer.Ordinal)
        || !tags.Any(tag => tag.Length > 0 && services.Contains(tag));
}

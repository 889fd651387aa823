using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace ProtoRpc.Hosting.Grpc;

/// <summary>What the health checks of an application say of its services. A check whose tags name a service
/// is one of that service; a check whose tags name none is one of all.</summary>
internal sealed class HealthReports(HealthCheckService checks, TimeSpan period)
{
    private readonly Lock _gate = new();
    private Task<HealthReport>? _last;
    private long _since;

    /// <summary>How old a report may become while somebody watches.</summary>
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

    /// <summary>Whether a service was healthy in this period: however many watch, the checks run
    /// once.</summary>
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
            // Those who watch come a moment early or late, for clocks are coarse.
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

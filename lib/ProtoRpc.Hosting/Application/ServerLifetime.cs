using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;

namespace ProtoRpc.Hosting.Application;

/// <summary>Opens the server's own endpoints when the application starts, and closes them when it
/// stops.</summary>
internal sealed partial class ServerLifetime(
    RpcServer server, MappedFaces mapped, IServiceProvider services, IOptions<HostOptions> host,
    ILogger<RpcServer> logger)
    : IHostedLifecycleService
{
    // What is left of the application's time when running calls are cancelled: they answer, and connections
    // are closed, before the host waits no longer.
    private const double ShareOfDrain = 0.8;

    private Task _stopping = Task.CompletedTask;

    public Task StartingAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    // The routes of the application are complete only now, and may require authorization that the server's
    // own endpoints do not run.
    public async Task StartedAsync(CancellationToken cancellationToken)
    {
        await RequiredAuthorization.ApplyAsync(services).ConfigureAwait(false);
        if (server.Endpoints.Count > 0)
        {
            server.StartListening();
            foreach (RpcEndpoint endpoint in server.Endpoints)
            {
                LogListening(endpoint);
            }
        }
        else if (!mapped.IsMapped)
        {
            LogNothingServed();
        }
    }

    // Before any part of the application stops, so that all parts drain at the same time.
    public Task StoppingAsync(CancellationToken cancellationToken)
    {
        _stopping = server.StopAsync(DrainOf(host.Value));
        return Task.CompletedTask;
    }

    public async Task StopAsync(CancellationToken cancellationToken)
    {
        try
        {
            await _stopping.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
        {
            // The time of the host is up. The server closes what is left when the application is disposed.
            return;
        }

        foreach (RpcEndpoint endpoint in server.Endpoints)
        {
            LogStopped(endpoint);
        }
    }

    public Task StoppedAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    /// <summary>For how long running calls may go on when the application stops.</summary>
    public static TimeSpan DrainOf(HostOptions host) => host.ShutdownTimeout == Timeout.InfiniteTimeSpan
        ? Timeout.InfiniteTimeSpan
        : host.ShutdownTimeout * ShareOfDrain;

    [LoggerMessage(
        12, LogLevel.Warning,
        "The server of AddProtoRpc serves nothing: call app.MapProtoRpc(), or add an endpoint to the setting "
        + "'ProtoRpc:Endpoints'.")]
    private partial void LogNothingServed();

    [LoggerMessage(10, LogLevel.Information, "Listening on {Endpoint}.")]
    private partial void LogListening(RpcEndpoint endpoint);

    [LoggerMessage(11, LogLevel.Information, "Stopped listening on {Endpoint}.")]
    private partial void LogStopped(RpcEndpoint endpoint);
}

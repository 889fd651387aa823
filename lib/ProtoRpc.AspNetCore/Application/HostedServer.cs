using Microsoft.AspNetCore.HostFiltering;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using ProtoRpc.AspNetCore.Grpc;
using ProtoRpc.Server;

namespace ProtoRpc.AspNetCore.Application;

/// <summary>Makes the server of an application.</summary>
internal static class HostedServer
{
    /// <exception cref="OptionsValidationException">A setting that cannot be used.</exception>
    /// <exception cref="RpcException">A class that does not fit its service.</exception>
    public static RpcServer Create(IServiceProvider services)
    {
        RpcHostOptions options = services.GetRequiredService<IOptions<RpcHostOptions>>().Value;
        RpcEndpoint[] endpoints = [.. options.Endpoints.Select(RpcEndpoint.Parse)];
        RpcServer server = new(OptionsOf(services, options));
        foreach (HostedService service in services.GetServices<HostedService>())
        {
            server.AddService(service.Bind());
        }

        foreach (RpcEndpoint endpoint in endpoints)
        {
            server.AddEndpoint(endpoint);
        }

        return server;
    }

    /// <summary>HTTP and gRPC on the endpoints of the application.</summary>
    public static MappedProtocols Map(IServiceProvider services)
    {
        HttpServerOptions options = HttpOf(
            services, services.GetRequiredService<IOptions<RpcHostOptions>>().Value);
        return new MappedProtocols(
            services.GetRequiredService<RpcServer>(),
            options with { AllowedHosts = [.. options.AllowedHosts, .. ApplicationHosts.Get(services)] });
    }

    private static HttpServerOptions HttpOf(IServiceProvider services, RpcHostOptions options) =>
        options.Http with
        {
            Health = services.GetService<HealthCheckService>() is { } checks
                ? new HealthReports(checks, options.HealthPeriod)
                : null,
        };

    private static RpcServerOptions OptionsOf(IServiceProvider services, RpcHostOptions options)
    {
        RpcServerOptions server = options.Server with
        {
            LoggerFactory = options.Server.LoggerFactory ?? services.GetService<ILoggerFactory>(),
            Interceptors =
            [
                new CallScope(services.GetRequiredService<IServiceScopeFactory>()),
                .. options.Server.Interceptors,
                .. services.GetServices<HostedInterceptor>().Select(hosted => hosted.Interceptor),
            ],
        };
        return server.WithHttp(HttpOf(services, options));
    }
}

/// <summary>A service that an application serves.</summary>
/// <param name="Bind">Makes its handlers, when the application starts.</param>
internal sealed record HostedService(Func<ServerService> Bind);

/// <summary>An interceptor of an application's server, in the order in which they were added.</summary>
internal sealed record HostedInterceptor(IRpcInterceptor Interceptor);

/// <summary>The host names of an application: its setting <c>AllowedHosts</c>, which its host filtering
/// uses.</summary>
internal static class ApplicationHosts
{
    // The values that ASP.NET Core's host filtering treats as all hosts. Application templates set "*", which
    // does not mean that every host was intended.
    private static readonly string[] All = ["*", "[::]", "0.0.0.0"];

    public static IEnumerable<string> Get(IServiceProvider services)
    {
        IList<string> names = services.GetService<IOptions<HostFilteringOptions>>()?.Value.AllowedHosts ?? [];
        return names.Any(name => All.Contains(name.Trim())) ? [] : names.Where(IsName);
    }

    // Host filtering ignores a name with a port, so it is not an error.
    private static bool IsName(string name)
    {
        string bare = name.Trim();
        bare = bare.StartsWith("*.", StringComparison.Ordinal) ? bare[2..] : bare;
        return Uri.CheckHostName(bare) != UriHostNameType.Unknown;
    }
}

/// <summary>Opens the server's own endpoints with the application, and closes them with it.</summary>
internal sealed partial class ServerLifetime(
    RpcServer server, MappedProtocols mapped, IServiceProvider services, IOptions<HostOptions> host,
    ILogger<RpcServer> logger)
    : IHostedLifecycleService
{
    // The share of the shutdown timeout after which running calls are cancelled. The rest of the time is for
    // their replies, and for closing connections.
    private const double ShareOfDrain = 0.8;

    private Task _stopping = Task.CompletedTask;

    public Task StartingAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    // All routes of the application exist at this point. They may require authorization, which the server's
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

    // Begins before other parts of the application stop, so that all parts drain at the same time.
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
            // The host's shutdown timeout has passed. The server closes the remaining connections when the
            // application is disposed.
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

/// <summary>Gives each call a scope of the application's services. A call on the application's own endpoints
/// has one already, which its middleware shares.</summary>
internal sealed class CallScope(IServiceScopeFactory scopes) : IRpcInterceptor
{
    public async ValueTask<IMessage> InvokeAsync(
        RpcServerCallContext context, IMessage request, RpcHandler next)
    {
        if (context.Services is not null)
        {
            return await next(context, request).ConfigureAwait(false);
        }

        AsyncServiceScope scope = scopes.CreateAsyncScope();
        await using (scope.ConfigureAwait(false))
        {
            context.Services = scope.ServiceProvider;
            return await next(context, request).ConfigureAwait(false);
        }
    }

    public async ValueTask InvokeStreamAsync(
        RpcServerCallContext context, RpcServerStream stream, RpcStreamHandler next)
    {
        if (context.Services is not null)
        {
            await next(context, stream).ConfigureAwait(false);
            return;
        }

        AsyncServiceScope scope = scopes.CreateAsyncScope();
        await using (scope.ConfigureAwait(false))
        {
            context.Services = scope.ServiceProvider;
            await next(context, stream).ConfigureAwait(false);
        }
    }
}

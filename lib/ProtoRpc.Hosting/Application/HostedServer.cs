using Microsoft.AspNetCore.HostFiltering;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using ProtoRpc.Hosting.Grpc;
using ProtoRpc.Server;

namespace ProtoRpc.Hosting.Application;

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
    public static MappedFaces Map(IServiceProvider services)
    {
        HttpServerOptions options = HttpOf(
            services, services.GetRequiredService<IOptions<RpcHostOptions>>().Value);
        return new MappedFaces(
            services.GetRequiredService<RpcServer>(),
            options with { AllowedHosts = [.. options.AllowedHosts, .. ApplicationHosts.Of(services)] });
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

/// <summary>The host names of an application: those of its setting <c>AllowedHosts</c>, which its host
/// filtering lets pass.</summary>
internal static class ApplicationHosts
{
    // As host filtering reads them. The templates of applications have "*", so it says nothing of who calls.
    private static readonly string[] All = ["*", "[::]", "0.0.0.0"];

    public static IEnumerable<string> Of(IServiceProvider services)
    {
        IList<string> names = services.GetService<IOptions<HostFilteringOptions>>()?.Value.AllowedHosts ?? [];
        return names.Any(name => All.Contains(name.Trim()))
            ? []
            : names.Where(IsName);
    }

    // A name with a port matches no request there, and is no error.
    private static bool IsName(string name)
    {
        string bare = name.Trim();
        bare = bare.StartsWith("*.", StringComparison.Ordinal) ? bare[2..] : bare;
        return Uri.CheckHostName(bare) != UriHostNameType.Unknown;
    }
}

using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Routing;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.DependencyInjection.Extensions;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Options;
using ProtoRpc.AspNetCore.Application;

namespace ProtoRpc;

/// <summary>Serves methods in an application of ASP.NET Core, or in any other with a generic host.</summary>
/// <example><code>
/// var builder = WebApplication.CreateBuilder();
/// builder.Services.AddProtoRpc()
///     .AddService&lt;OrdersService>(OrdersReflection.Descriptor.Services[0]);
///
/// var app = builder.Build();
/// app.MapProtoRpc();
/// </code></example>
public static class RpcHosting
{
    /// <summary>Adds an <see cref="RpcServer"/> to an application. Its settings are read from the
    /// configuration's section <c>ProtoRpc</c>; it opens the endpoints of the section when the application
    /// starts, and closes them when it stops.</summary>
    /// <param name="services">The services of the application.</param>
    /// <param name="configure">Changes the settings after the section is read; null for nothing.</param>
    public static RpcHostBuilder AddProtoRpc(
        this IServiceCollection services, Action<RpcHostOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(services);
        if (services.All(service => service.ServiceType != typeof(RpcServer)))
        {
            services.AddOptions<RpcHostOptions>().ValidateOnStart();
            services.AddSingleton<IConfigureOptions<RpcHostOptions>, HostOptionsSetup>();
            services.AddSingleton<IValidateOptions<RpcHostOptions>, HostOptionsSetup>();
            services.AddSingleton(HostedServer.Create);
            services.AddSingleton(HostedServer.Map);
            services.TryAddEnumerable(ServiceDescriptor.Singleton<IHostedService, ServerLifetime>());
        }

        if (configure is not null)
        {
            services.Configure(configure);
        }

        return new RpcHostBuilder(services);
    }

    /// <summary>Serves HTTP and gRPC on the endpoints of the application, after its middleware: the methods
    /// at <c>/package.Service/Method</c> and <c>/file.proto/Method</c>, the files of the schema, a page that
    /// shows them, reflection and health.</summary>
    /// <remarks>The application's own routes have priority over the page. gRPC needs HTTP/2. Without TLS,
    /// Kestrel only supports HTTP/2 if the endpoint has <c>Protocols: Http2</c>.</remarks>
    /// <param name="endpoints">The application, or a group of its routes.</param>
    /// <returns>A builder for conventions of all these routes, such as <c>RequireAuthorization</c>.</returns>
    /// <exception cref="InvalidOperationException">AddProtoRpc was not called, or these routes have a server
    /// already.</exception>
    public static IEndpointConventionBuilder MapProtoRpc(this IEndpointRouteBuilder endpoints)
    {
        ArgumentNullException.ThrowIfNull(endpoints);
        MappedProtocols protocols = endpoints.ServiceProvider.GetService<MappedProtocols>()
            ?? throw new InvalidOperationException(
                "The application has no server to map. Call builder.Services.AddProtoRpc() before Build().");
        return MappedRoutes.Add(endpoints, protocols);
    }

    /// <summary>Serves another server, which the application created, under separate routes. The
    /// application stops the server when it stops.</summary>
    /// <example><code>
    /// app.MapGroup("/admin").MapProtoRpc(RpcServer.Create(schema).Handle("Count", CountAsync))
    ///     .RequireAuthorization("admin");
    /// </code></example>
    /// <param name="endpoints">A group of routes.</param>
    /// <param name="server">The server, whose set-up ends with this.</param>
    /// <param name="http">How HTTP and gRPC behave; null for the defaults.</param>
    /// <returns>For what is to hold for all of it, as <c>RequireAuthorization</c>.</returns>
    /// <exception cref="InvalidOperationException">These routes have a server already.</exception>
    /// <exception cref="RpcException">FailedPrecondition: <paramref name="http"/> has a check of callers, and
    /// the server already listens on an endpoint that serves anonymous callers.</exception>
    public static IEndpointConventionBuilder MapProtoRpc(
        this IEndpointRouteBuilder endpoints, RpcServer server, HttpServerOptions? http = null)
    {
        ArgumentNullException.ThrowIfNull(endpoints);
        ArgumentNullException.ThrowIfNull(server);
        MappedProtocols protocols = new(server, (http ?? new HttpServerOptions()) with { });
        IEndpointConventionBuilder routes = MappedRoutes.Add(endpoints, protocols);
        IServiceProvider services = endpoints.ServiceProvider;
        if (services.GetService<IHostApplicationLifetime>() is { } application)
        {
            TimeSpan drain = ServerLifetime.DrainOf(
                services.GetRequiredService<IOptions<HostOptions>>().Value);
            application.ApplicationStarted.Register(
                () => _ = RequiredAuthorization.StopIfViolatedAsync(services, application));
            application.ApplicationStopping.Register(() => _ = server.StopAsync(drain));
        }

        return routes;
    }
}

/// <summary>How the server of an application behaves. Read from the configuration's section
/// <c>ProtoRpc</c>, and changed in code after that.</summary>
/// <example><code>
/// builder.Services.AddProtoRpc(options =>
///     {
///         options.Endpoints.Add("ncalrpc:[Orders]");
///         options.Server = new() { Limits = new() { MaxConcurrentCalls = 100 } };
///     })
///     .AddService&lt;OrdersService>(OrdersReflection.Descriptor.Services[0]);
/// </code></example>
public sealed class RpcHostOptions
{
    /// <summary>The name of the section.</summary>
    public const string Section = "ProtoRpc";

    /// <summary>The endpoints that the server opens itself, beside those of the application: string bindings
    /// or URIs. Key <c>Endpoints</c>.</summary>
    public IList<string> Endpoints { get; set; } = [];

    /// <summary>Limits, certificate, sessions, authentication and errors. Keys <c>Limits:NAME</c>,
    /// <c>Security:NAME</c>, <c>UseTls</c>, <c>ErrorDetail</c>, <c>EnableSessions</c>,
    /// <c>EnableMultiPart</c>, and <c>Certificate:Path</c> with <c>Certificate:Password</c> and
    /// <c>Certificate:KeyPath</c> where the file needs them. The certificate is for the endpoints that the
    /// server opens itself; Kestrel's own settings have the certificate of the application's
    /// endpoints.</summary>
    public RpcServerOptions Server { get; set; } = new();

    /// <summary>HTTP and gRPC, on the application's own endpoints and on those of the section. Keys
    /// <c>Http:NAME</c>.</summary>
    public HttpServerOptions Http { get; set; } = new();

    /// <summary>How often the health checks run while a caller watches the health: 5 seconds. Key
    /// <c>HealthPeriod</c>.</summary>
    public TimeSpan HealthPeriod { get; set; } = TimeSpan.FromSeconds(5);
}

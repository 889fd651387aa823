using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.DependencyInjection.Extensions;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Options;
using ProtoRpc.Hosting.Application;

namespace ProtoRpc;

/// <summary>Serves methods in an application of ASP.NET Core, or in any other with a generic host.</summary>
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
            services.TryAddEnumerable(ServiceDescriptor.Singleton<IHostedService, ServerLifetime>());
        }

        if (configure is not null)
        {
            services.Configure(configure);
        }

        return new RpcHostBuilder(services);
    }
}

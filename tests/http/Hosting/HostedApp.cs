using System.Net;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Shop;

namespace ProtoRpc.Http.Tests.Hosting;

/// <summary>A web application with the orders service, on free ports of loopback: one for HTTP/1.1 and one
/// for HTTP/2.</summary>
internal sealed class HostedApp : IAsyncDisposable
{
    private HostedApp(WebApplication application)
    {
        Application = application;
        Http = new HttpClient(new SocketsHttpHandler { UseProxy = false })
        {
            BaseAddress = new Uri(Ports.First()),
        };
    }

    public WebApplication Application { get; }

    public HttpClient Http { get; }

    public RpcServer Server => Application.Services.GetRequiredService<RpcServer>();

    public string Grpc => Ports.Last().Replace("http://", "grpc://", StringComparison.Ordinal);

    private ICollection<string> Ports => Application.Urls;

    /// <summary>Makes and starts an application.</summary>
    /// <param name="services">Adds to its services.</param>
    /// <param name="map">Adds to its endpoints.</param>
    /// <param name="settings">Settings by their paths.</param>
    public static async Task<HostedApp> StartAsync(
        Action<WebApplicationBuilder>? services = null,
        Action<WebApplication>? map = null,
        params (string Key, string Value)[] settings)
    {
        WebApplication application = Build(services, settings);
        map?.Invoke(application);
        try
        {
            await application.StartAsync();
            return new HostedApp(application);
        }
        catch
        {
            await application.DisposeAsync();
            throw;
        }
    }

    public static WebApplication Build(
        Action<WebApplicationBuilder>? services, params (string Key, string Value)[] settings)
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.Configuration.AddInMemoryCollection(
            settings.Select(pair => KeyValuePair.Create(pair.Key, (string?)pair.Value)));
        builder.WebHost.ConfigureKestrel(kestrel =>
        {
            kestrel.Listen(IPAddress.Loopback, 0, listen => listen.Protocols = HttpProtocols.Http1);
            kestrel.Listen(IPAddress.Loopback, 0, listen => listen.Protocols = HttpProtocols.Http2);
        });
        builder.Services.AddSingleton<NoteCount>();
        builder.Services.AddScoped<CallNotes>();
        builder.Services.AddScoped<AuditInterceptor>();
        if (services is null)
        {
            AddOrders(builder);
        }
        else
        {
            services(builder);
        }

        return builder.Build();
    }

    public static RpcHostBuilder AddOrders(WebApplicationBuilder builder) => builder.Services.AddProtoRpc()
        .AddService<OrdersService>(OrdersReflection.Descriptor.Services[0])
        .AddInterceptor<AuditInterceptor>();

    public async ValueTask DisposeAsync()
    {
        Http.Dispose();
        await Application.DisposeAsync();
    }
}

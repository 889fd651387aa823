using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.DependencyInjection;
using Shop;

namespace ProtoRpc.Http.Tests.Hosting;

/// <summary>The code of docs/hosting.md.</summary>
internal static class HostingSample
{
    public static WebApplication Build(string[] args)
    {
        // <host>
        var builder = WebApplication.CreateBuilder(args);
        builder.Services.AddScoped<CallNotes>();
        builder.Services.AddScoped<AuditInterceptor>();
        builder.Services.AddProtoRpc()
            .AddService<OrdersService>(OrdersReflection.Descriptor.Services[0])
            .AddInterceptor<AuditInterceptor>();
        builder.Services.AddHealthChecks();

        var app = builder.Build();
        app.MapProtoRpc();
        // </host>
        return app;
    }
}

using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.DependencyInjection;
using ProtoRpc.Http.Tests.Hosting;
using Shop;

namespace ProtoRpc.Http.Tests.Docs;

/// <summary>The code of docs/csharp/hosting.md.</summary>
internal static class HostingSamples
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
        return app;
        // </host>
    }
}

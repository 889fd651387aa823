using System.Collections.Concurrent;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Shop;

namespace ProtoRpc.Http.Tests.Hosting;

/// <summary>A server in an application without a web server.</summary>
public static class GenericHostTests
{
    private static RpcSchema Schema { get; } = RpcSchema.FromDescriptors(OrdersReflection.Descriptor);

    [Fact]
    public static async Task Endpoints_of_every_kind_open_and_close_with_the_application()
    {
        using IHost host = Build(
            null, "tcp://127.0.0.1:0", $"local://hosting-{Guid.NewGuid():N}", "grpc://127.0.0.1:0",
            "http://127.0.0.1:0/");
        await host.StartAsync();
        RpcServer server = host.Services.GetRequiredService<RpcServer>();

        foreach (RpcEndpoint endpoint in server.Endpoints)
        {
            await using RpcClient client = await RpcClient.ConnectAsync(endpoint, Schema);
            Assert.Equal(7, (await client.InvokeAsync<PlaceReply>("Count", new { })).Total);
        }

        Assert.Equal(4, server.Endpoints.Count);
        await host.StopAsync();
        Assert.True(server.Completion.IsCompleted);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public static async Task A_server_that_serves_nothing_is_logged(bool hasEndpoint)
    {
        ConcurrentQueue<string> log = [];
        using IHost host = Build(log, hasEndpoint ? ["tcp://127.0.0.1:0"] : []);
        await host.StartAsync();
        await host.StopAsync();

        Assert.Equal(!hasEndpoint, log.Any(line => line.Contains("serves nothing: call app.MapProtoRpc()")));
    }

    private static IHost Build(ConcurrentQueue<string>? log, params string[] endpoints)
    {
        HostApplicationBuilder builder = Host.CreateApplicationBuilder();
        builder.Logging.ClearProviders();
        if (log is not null)
        {
            builder.Logging.AddProvider(new LogLines(log));
        }

        builder.Configuration.AddInMemoryCollection(endpoints.Select(
            (endpoint, i) => KeyValuePair.Create($"ProtoRpc:Endpoints:{i}", (string?)endpoint)));
        builder.Services.AddSingleton<NoteCount>();
        builder.Services.AddScoped<CallNotes>();
        builder.Services.AddScoped<AuditInterceptor>();
        builder.Services.AddProtoRpc()
            .AddService<OrdersService>(OrdersReflection.Descriptor.Services[0])
            .AddInterceptor<AuditInterceptor>();
        return builder.Build();
    }
}

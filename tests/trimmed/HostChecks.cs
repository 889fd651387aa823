using Google.Protobuf.WellKnownTypes;
using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Shop;

namespace ProtoRpc.TrimmedTests;

/// <summary>A class of an ASP.NET Core application that serves, with settings of the configuration.</summary>
internal static class HostChecks
{
    public static async Task RunAsync(Checks checks)
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.Configuration["urls"] = "http://127.0.0.1:0";
        builder.Configuration["ProtoRpc:Endpoints:0"] = "grpc://127.0.0.1:0";
        builder.Configuration["ProtoRpc:Limits:HandlerTimeout"] = "00:00:15";
        builder.Configuration["ProtoRpc:Http:AllowedHosts:0"] = "shop.example.com";
        builder.Configuration["ProtoRpc:Security:Authentication"] = "None";
        builder.Services.AddSingleton<CallCount>();
        builder.Services.AddProtoRpc()
            .AddService<OrdersService>(OrdersReflection.Descriptor.Services[0])
            .AddInterceptor<CountingInterceptor>();
        builder.Services.AddHealthChecks();
        await using WebApplication app = builder.Build();
        app.MapProtoRpc();
        await app.StartAsync();

        RpcSchema schema = RpcSchema.FromDescriptors(OrdersReflection.Descriptor);
        await using RpcClient http = await RpcClient.ConnectAsync(app.Urls.First(), schema);
        await using RpcClient grpc = await RpcClient.ConnectAsync(
            app.Services.GetRequiredService<RpcServer>().Endpoints[0], schema);
        foreach (RpcClient client in new[] { http, grpc })
        {
            await CallAsync(checks, client);
        }

        await StreamAsync(checks, grpc);
        await checks.RunAsync("the interceptor was called", () =>
        {
            Checks.Equal(true, app.Services.GetRequiredService<CallCount>().Calls >= 4);
            return Task.CompletedTask;
        });
        await app.StopAsync();
    }

    private static async Task CallAsync(Checks checks, RpcClient client)
    {
        await checks.RunAsync($"a method that returns a task, {client.Endpoint}", async () =>
        {
            PlaceReply reply = await client.InvokeAsync<PlaceReply>(
                "Place", new PlaceRequest { Order = new Order { Id = "o1" } });
            Checks.Equal("o1", reply.Id);
        });
        await checks.RunAsync($"a method that returns a message, {client.Endpoint}", async () =>
        {
            PlaceReply reply = await client.InvokeAsync<PlaceReply>("Count", new Empty());
            Checks.Equal(7, reply.Total);
        });
    }

    private static async Task StreamAsync(Checks checks, RpcClient client)
    {
        await checks.RunAsync("a method that streams replies", async () =>
        {
            List<int> numbers = [];
            await foreach (OrderEvent e in client.InvokeServerStreamAsync<OrderEvent>(
                "Watch", new WatchRequest { Id = "o1" }))
            {
                numbers.Add(e.Number);
            }

            Checks.Equal("1 2", string.Join(' ', numbers));
        });
        await checks.RunAsync("a method that streams requests and returns a value task", async () =>
        {
            await using RpcStreamingCall<PlaceRequest, PlaceReply> call =
                await client.OpenAsync<PlaceRequest, PlaceReply>("Import");
            await call.SendAsync(new PlaceRequest { Order = new Order { Items = { "tea", "cups" } } });
            await call.SendAsync(new PlaceRequest { Order = new Order { Items = { "tea" } } });
            await call.CompleteAsync();
            Checks.Equal(true, await call.ReadAsync());
            Checks.Equal(3, call.Current.Total);
        });
        await checks.RunAsync("a method that streams both", async () =>
        {
            await using RpcStreamingCall<WatchRequest, OrderEvent> call =
                await client.OpenAsync<WatchRequest, OrderEvent>("Track");
            await call.SendAsync(new WatchRequest { Id = "o9" });
            Checks.Equal(true, await call.ReadAsync());
            Checks.Equal("o9", call.Current.Text);
            await call.CompleteAsync();
            Checks.Equal(false, await call.ReadAsync());
        });
    }
}

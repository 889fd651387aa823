using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;

namespace ProtoRpc.Http.Tests.Hosting;

/// <summary>Calls that run on the application's endpoints when it stops.</summary>
public static class MapStopTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    private static RpcSchema Schema { get; } =
        RpcSchema.Load([Path.Combine(AppContext.BaseDirectory, "protos", "shop.proto")]);

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public static async Task A_running_call_ends_and_new_ones_are_refused(bool isGrpc)
    {
        HostedApp app = await StartAsync(TimeSpan.FromSeconds(60));
        await using RpcClient client = RpcClient.Connect(EndpointOf(app, isGrpc), Schema);
        SlowGate gate = app.Application.Services.GetRequiredService<SlowGate>();
        RpcServer server = app.Server;

        Task<DynamicMessage> call = client.InvokeAsync("Buy", new { name = "tea" });
        await gate.Begun.Task.WaitAsync(Patience);
        Task stop = app.Application.StopAsync();
        await RefusedAsync(client);
        Assert.False(stop.IsCompleted);
        gate.Go.SetResult();

        Assert.Equal("tea", (await call.WaitAsync(Patience))["name"]);
        await stop.WaitAsync(Patience);
        await server.Completion.WaitAsync(Patience);
        await app.DisposeAsync();
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public static async Task A_call_that_does_not_end_is_cancelled_and_its_caller_told(bool isGrpc)
    {
        // A fifth of it is for the answer, which takes longer when all tests run at the same time.
        HostedApp app = await StartAsync(TimeSpan.FromSeconds(5));
        await using RpcClient client = RpcClient.Connect(EndpointOf(app, isGrpc), Schema);
        SlowGate gate = app.Application.Services.GetRequiredService<SlowGate>();

        Task<DynamicMessage> call = client.InvokeAsync("Buy", new { name = "tea" });
        await gate.Begun.Task.WaitAsync(Patience);
        await app.Application.StopAsync().WaitAsync(Patience);
        RpcException error = await Assert.ThrowsAsync<RpcException>(() => call.WaitAsync(Patience));

        Assert.Equal(RpcStatusCode.Cancelled, error.Code);
        Assert.Contains("The server stopped the call", error.Message);
        await app.DisposeAsync();
    }

    private static string EndpointOf(HostedApp app, bool isGrpc) =>
        isGrpc ? app.Grpc : app.Application.Urls.First();

    // Calls may be taken until the stop has begun.
    private static async Task RefusedAsync(RpcClient client)
    {
        using CancellationTokenSource end = new(Patience);
        while (true)
        {
            try
            {
                await client.InvokeAsync("Look", new { name = "x" }, cancellationToken: end.Token);
                await Task.Delay(10, end.Token);
            }
            catch (RpcException e) when (e.Code == RpcStatusCode.Unavailable)
            {
                return;
            }
        }
    }

    private static Task<HostedApp> StartAsync(TimeSpan shutdown) => HostedApp.StartAsync(
        builder =>
        {
            builder.Services.Configure<HostOptions>(options => options.ShutdownTimeout = shutdown);
            builder.Services.AddSingleton<SlowGate>();
            builder.Services.AddProtoRpc().AddService<SlowShop>(Schema.GetService("shop.Shop"));
        },
        map => map.MapProtoRpc());
}

using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using ProtoRpc.Protocols.Grpc.Proto;
using Status = ProtoRpc.Protocols.Grpc.Proto.HealthCheckResponse.Types.ServingStatus;

namespace ProtoRpc.Http.Tests.Hosting;

/// <summary>Health checks of an application, as grpc.health.v1 tells them.</summary>
public static class HealthCheckTests
{
    private static RpcSchema Schema { get; } = RpcSchema.FromDescriptors(HealthReflection.Descriptor);

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public static async Task A_check_is_told_by_check_and_watch(bool isMapped)
    {
        bool isHealthy = true;
        HostedApp app = await StartAsync(checks => checks.AddCheck("store", () => Result(isHealthy)));
        await using RpcClient client = RpcClient.Connect(
            isMapped ? RpcEndpoint.Parse(app.Grpc) : app.Server.Endpoints[0], Schema);
        await using IAsyncEnumerator<HealthCheckResponse> watch = client
            .InvokeServerStreamAsync<HealthCheckResponse>("Watch", new HealthCheckRequest())
            .GetAsyncEnumerator();

        Assert.Equal(Status.Serving, await NextAsync(watch));
        Assert.Equal(Status.Serving, await CheckAsync(client, ""));
        isHealthy = false;
        Assert.Equal(Status.NotServing, await CheckAsync(client, ""));
        Assert.Equal(Status.NotServing, await NextAsync(watch));
        isHealthy = true;
        Assert.Equal(Status.Serving, await NextAsync(watch));
        Task stop = app.Application.StopAsync();
        Assert.Equal(Status.NotServing, await NextAsync(watch));
        await stop.WaitAsync(TimeSpan.FromSeconds(20));
        await app.DisposeAsync();
    }

    [Fact]
    public static async Task A_check_with_the_tag_of_a_service_is_one_of_that_service()
    {
        await using HostedApp app = await StartAsync(checks => checks
            .AddCheck("orders", () => Result(false), ["shop.Orders", "ready"])
            .AddCheck("slow", () => HealthCheckResult.Degraded(), ["ready"]));
        await using RpcClient client = RpcClient.Connect(RpcEndpoint.Parse(app.Grpc), Schema);

        RpcException unknown = await Assert.ThrowsAsync<RpcException>(() => CheckAsync(client, "shop.Nope"));

        Assert.Equal(Status.NotServing, await CheckAsync(client, ""));
        Assert.Equal(Status.NotServing, await CheckAsync(client, "shop.Orders"));
        Assert.Equal(Status.Serving, await CheckAsync(client, "grpc.health.v1.Health"));
        Assert.Equal(RpcStatusCode.NotFound, unknown.Code);
    }

    [Fact]
    public static async Task However_many_watch_a_check_runs_once_a_period()
    {
        int runs = 0;
        await using HostedApp app = await StartAsync(
            checks => checks.AddCheck("count", () =>
            {
                Interlocked.Increment(ref runs);
                return Result(true);
            }),
            period: "00:10:00");
        await using RpcClient client = RpcClient.Connect(RpcEndpoint.Parse(app.Grpc), Schema);
        List<IAsyncEnumerator<HealthCheckResponse>> watches = [];

        for (int i = 0; i < 20; i++)
        {
            watches.Add(client.InvokeServerStreamAsync<HealthCheckResponse>("Watch", new HealthCheckRequest())
                .GetAsyncEnumerator());
            Assert.Equal(Status.Serving, await NextAsync(watches[^1]));
        }

        Assert.Equal(1, runs);
        foreach (IAsyncEnumerator<HealthCheckResponse> watch in watches)
        {
            await watch.DisposeAsync();
        }
    }

    private static Task<HostedApp> StartAsync(
        Action<IHealthChecksBuilder> add, string period = "00:00:00.1") =>
        HostedApp.StartAsync(
            builder =>
            {
                HostedApp.AddOrders(builder);
                add(builder.Services.AddHealthChecks());
            },
            map => map.MapProtoRpc(),
            ("ProtoRpc:Endpoints:0", "grpc://127.0.0.1:0"), ("ProtoRpc:HealthPeriod", period));

    private static HealthCheckResult Result(bool isHealthy) =>
        isHealthy ? HealthCheckResult.Healthy() : HealthCheckResult.Unhealthy();

    private static async Task<Status> CheckAsync(RpcClient client, string service) =>
        (await client.InvokeAsync<HealthCheckResponse>(
            "Check", new HealthCheckRequest { Service = service })).Status;

    private static async Task<Status> NextAsync(IAsyncEnumerator<HealthCheckResponse> watch)
    {
        Assert.True(await watch.MoveNextAsync().AsTask().WaitAsync(TimeSpan.FromSeconds(20)));
        return watch.Current.Status;
    }
}

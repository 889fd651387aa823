using System.Net;
using System.Text;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.TestHost;
using Shop;

namespace ProtoRpc.Http.Tests.Hosting;

/// <summary>Applications in the test server of ASP.NET Core, which has no connections.</summary>
public static class TestServerTests
{
    private static RpcSchema Schema { get; } = RpcSchema.FromDescriptors(OrdersReflection.Descriptor);

    [Theory]
    [InlineData("http://localhost/")]
    [InlineData("https://localhost/")]
    [InlineData("https://shop.example.com/")]
    public static async Task Its_client_calls_by_http(string address)
    {
        await using WebApplication app = await StartAsync();
        using HttpClient http = app.GetTestServer().CreateClient();
        http.BaseAddress = new Uri(address);

        using HttpResponseMessage answer = await http.PostAsync(
            "shop.Orders/Place",
            new StringContent("""{"order":{"id":"a"}}""", Encoding.UTF8, "application/json"));

        Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
        Assert.Contains("a  Place", await answer.Content.ReadAsStringAsync());
        Assert.Contains("shop.Orders", await http.GetStringAsync("/"));
    }

    [Theory]
    [InlineData("http://localhost:80/")]
    [InlineData("grpc://localhost:80")]
    [InlineData("grpcs://shop.example.com:443")]
    public static async Task Our_client_calls_through_its_handler(string endpoint)
    {
        await using WebApplication app = await StartAsync();
        await using RpcClient client = await RpcClient.ConnectAsync(endpoint, Schema, Through(app));
        PlaceRequest request = new() { Order = new Order { Id = "a" } };

        Assert.Equal("a  Place", (await client.InvokeAsync<PlaceReply>("Place", request)).Id);
        Assert.Equal("a  Place", client.Invoke<PlaceReply>("Place", request).Id);
        Assert.Equal(3, await client.InvokeServerStreamAsync<OrderEvent>(
            "Watch", new WatchRequest { Id = "w" }).CountAsync());
        Assert.True((await client.PingAsync()).Latency > TimeSpan.Zero);
    }

    [Fact]
    public static async Task Grpc_streams_go_both_ways_and_reflection_gives_the_schema()
    {
        await using WebApplication app = await StartAsync();
        await using RpcClient client = await RpcClient.ConnectAsync("grpc://localhost:80", Through(app));
        RpcSchema schema = await client.FetchSchemaAsync();
        await using RpcStreamingCall<WatchRequest, OrderEvent> call =
            await client.OpenAsync<WatchRequest, OrderEvent>("shop.Orders/Track");

        for (int i = 1; i <= 3; i++)
        {
            await call.SendAsync(new WatchRequest { Id = $"o{i}" });
            Assert.True(await call.ReadAsync());
            Assert.Equal((i, $"o{i}"), (call.Current.Number, call.Current.Text));
        }

        await call.CompleteAsync();
        Assert.False(await call.ReadAsync());
        Assert.Contains(schema.Services, service => service.FullName == "shop.Orders");
    }

    [Fact]
    public static async Task Failures_arrive_with_their_status()
    {
        await using WebApplication app = await StartAsync();
        foreach (string endpoint in new[] { "http://localhost:80/", "grpc://localhost:80" })
        {
            await using RpcClient client = await RpcClient.ConnectAsync(endpoint, Schema, Through(app));

            RpcException error = await Assert.ThrowsAsync<RpcException>(
                () => client.InvokeAsync<PlaceReply>("Place", new PlaceRequest()));

            // An exception of the class, of which callers elsewhere are not told.
            Assert.Equal(RpcStatusCode.Unknown, error.Code);
            Assert.DoesNotContain("There is no order", error.Message);
        }
    }

    [Fact]
    public static async Task An_endpoint_in_the_process_needs_no_test_server()
    {
        string name = $"inproc://orders-{Guid.NewGuid():N}";
        await using HostedApp app = await HostedApp.StartAsync(null, null, ("ProtoRpc:Endpoints:0", name));
        await using RpcClient client = await RpcClient.ConnectAsync(name, Schema);

        Assert.Equal(7, (await client.InvokeAsync<PlaceReply>("Count", new { })).Total);
    }

    private static RpcClientOptions Through(WebApplication app) => new()
    {
        HttpHandler = app.GetTestServer().CreateHandler,
    };

    private static async Task<WebApplication> StartAsync()
    {
        WebApplication app = HostedApp.Build(builder =>
        {
            HostedApp.AddOrders(builder);
            builder.WebHost.UseTestServer();
        });
        app.MapProtoRpc();
        await app.StartAsync();
        return app;
    }
}

using System.Net;
using System.Text;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Routing;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Shop;

namespace ProtoRpc.Http.Tests.Hosting;

/// <summary>Several servers and several places in one application, and sockets that are no ports.</summary>
public static class MapPlacesTests
{
    private const string Place = "/shop.Orders/Place";

    private static RpcSchema Schema { get; } = RpcSchema.FromDescriptors(OrdersReflection.Descriptor);

    [Theory]
    [InlineData("")]
    [InlineData("/rpc")]
    public static void One_place_has_one_server(string prefix)
    {
        WebApplication application = HostedApp.Build(null);
        IEndpointRouteBuilder routes = prefix.Length == 0 ? application : application.MapGroup(prefix);
        routes.MapProtoRpc();

        InvalidOperationException again = Assert.Throws<InvalidOperationException>(
            () => routes.MapProtoRpc());
        InvalidOperationException other = Assert.Throws<InvalidOperationException>(
            () => routes.MapProtoRpc(RpcServer.Create(Schema)));

        Assert.Contains("These routes already have a server", again.Message);
        Assert.Contains("app.MapGroup(\"/v2\").MapProtoRpc()", other.Message);
    }

    [Fact]
    public static async Task The_root_and_a_prefix_lead_to_the_same_server()
    {
        await using HostedApp app = await HostedApp.StartAsync(null, map =>
        {
            map.MapProtoRpc();
            map.MapGroup("/rpc").MapProtoRpc();
        });
        await using RpcClient client = await RpcClient.ConnectAsync(
            $"{app.Application.Urls.First()}/rpc/", Schema);

        Assert.Equal(HttpStatusCode.OK, (await PostAsync(app, Place)).Status);
        Assert.Equal("a  Place", (await client.InvokeAsync<PlaceReply>(
            "Place", new PlaceRequest { Order = new Order { Id = "a" } })).Id);
        app.Server.RequireCounts(counts => counts.Calls == 2);
    }

    [Fact]
    public static async Task Two_servers_stand_under_two_prefixes_and_end_with_the_application()
    {
        RpcServer second = RpcServer.Create(Schema)
            .Handle<PlaceRequest, PlaceReply>(
                "Place", (_, request) => ValueTask.FromResult(new PlaceReply { Id = "second" }));
        HostedApp app = await HostedApp.StartAsync(null, map =>
        {
            map.MapGroup("/first").MapProtoRpc();
            map.MapGroup("/second").MapProtoRpc(second);
        });

        (HttpStatusCode first, string ofFirst) = await PostAsync(app, "/first" + Place);
        (HttpStatusCode status, string ofSecond) = await PostAsync(app, "/second" + Place);
        await app.Application.StopAsync();
        await second.Completion.WaitAsync(TimeSpan.FromSeconds(20));
        await app.DisposeAsync();

        Assert.Equal((HttpStatusCode.OK, HttpStatusCode.OK), (first, status));
        Assert.Contains("a  Place", ofFirst);
        Assert.Contains("second", ofSecond);
        Assert.Equal(1, second.Counters.Calls);
    }

    [Fact]
    public static async Task A_server_that_stopped_refuses_calls_of_the_application()
    {
        await using HostedApp app = await HostedApp.StartAsync(null, map => map.MapProtoRpc());
        await using RpcClient grpc = RpcClient.Connect(app.Grpc, Schema);

        await app.Server.StopAsync();
        RpcException refused = await Assert.ThrowsAsync<RpcException>(
            () => grpc.InvokeAsync<PlaceReply>("Place", new PlaceRequest()));

        Assert.Equal(HttpStatusCode.ServiceUnavailable, (await PostAsync(app, Place)).Status);
        Assert.Equal(RpcStatusCode.Unavailable, refused.Code);
    }

    [Fact]
    public static async Task Groups_by_host_have_servers_of_their_own()
    {
        RpcServer admin = RpcServer.Create(Schema).Handle<PlaceRequest, PlaceReply>(
            "Place", (_, _) => ValueTask.FromResult(new PlaceReply { Id = "admin" }));
        await using HostedApp app = await HostedApp.StartAsync(null, map =>
        {
            map.MapGroup("").RequireHost("127.0.0.1").MapProtoRpc();
            map.MapGroup("").RequireHost("localhost").MapProtoRpc(admin);
        });

        Assert.Contains("a  Place", (await PostAsync(app, Place)).Text);
        Assert.Contains("admin", (await PostAsync(app, Place, "localhost")).Text);
    }

    [Fact]
    public static async Task Branches_of_the_pipeline_have_routes_of_their_own()
    {
        await using HostedApp app = await HostedApp.StartAsync(null, map =>
        {
            foreach (string branch in new[] { "/a", "/b" })
            {
                map.Map(branch, inner =>
                {
                    inner.UseRouting();
                    inner.UseEndpoints(endpoints => endpoints.MapProtoRpc());
                });
            }
        });

        Assert.Equal(HttpStatusCode.OK, (await PostAsync(app, "/a" + Place)).Status);
        Assert.Equal(HttpStatusCode.OK, (await PostAsync(app, "/b" + Place)).Status);
        Assert.Contains(
            "data-path=\"/b/shop.Orders/Place\"", await app.Http.GetStringAsync("/b/"));
    }

    [Fact]
    public static async Task A_unix_socket_of_the_application_serves_grpc_and_http_by_every_name()
    {
        string path = Path.Combine(Path.GetTempPath(), $"{Guid.NewGuid():N}.sock");
        RpcEndpoint? endpoint = null;
        RpcServer server = RpcServer.Create(Schema).Handle<PlaceRequest, PlaceReply>(
            "Place", (context, request) =>
            {
                endpoint = context.Endpoint;
                return ValueTask.FromResult(new PlaceReply { Id = request.Order.Id });
            });
        await using HostedApp app = await HostedApp.StartAsync(
            builder =>
            {
                HostedApp.AddOrders(builder);
                builder.WebHost.ConfigureKestrel(kestrel => kestrel.ListenUnixSocket(
                    path, listen => listen.Protocols = HttpProtocols.Http2));
            },
            map => map.MapProtoRpc(server));
        await using RpcClient client = await RpcClient.ConnectAsync(
            $"grpc+unix://{path}", Schema, new() { Tls = new() { ServerName = "shop.example.com" } });

        PlaceReply reply = await client.InvokeAsync<PlaceReply>(
            "Place", new PlaceRequest { Order = new Order { Id = "u" } });

        Assert.Equal("u", reply.Id);
        Assert.Equal(RpcEndpoint.Parse($"grpc+unix://{path}"), endpoint);
    }

    private static async Task<(HttpStatusCode Status, string Text)> PostAsync(
        HostedApp app, string path, string? host = null)
    {
        using HttpRequestMessage request = new(HttpMethod.Post, path)
        {
            Headers = { Host = host },
            Content = new StringContent("""{"order":{"id":"a"}}""", Encoding.UTF8, "application/json"),
        };
        using HttpResponseMessage response = await app.Http.SendAsync(request);
        return (response.StatusCode, await response.Content.ReadAsStringAsync());
    }
}

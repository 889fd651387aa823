using System.Collections.Concurrent;
using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using ProtoRpc.Http.Tests.Docs;
using Shop;

namespace ProtoRpc.Http.Tests.Hosting;

/// <summary>Runs the code of docs/csharp/hosting.md, and checks what applications log.</summary>
public static class HostingPageTests
{
    [Fact]
    public static async Task The_application_of_the_page_serves()
    {
        await using WebApplication app = HostingSamples.Build(
            ["--urls=http://127.0.0.1:0", "--ProtoRpc:Endpoints:0=ncacn_ip_tcp:127.0.0.1[0]",
                "--Logging:LogLevel:Default=None"]);
        await app.StartAsync();
        await using RpcClient http = RpcClient.Connect(
            RpcEndpoint.Parse(app.Urls.First()), RpcSchema.FromDescriptors(OrdersReflection.Descriptor));
        await using RpcClient native = RpcClient.Connect(
            app.Services.GetRequiredService<RpcServer>().Endpoints[0],
            RpcSchema.FromDescriptors(OrdersReflection.Descriptor));
        PlaceRequest request = new() { Order = new Order { Id = "a" } };

        Assert.Equal("a  Place", (await http.InvokeAsync<PlaceReply>("Place", request)).Id);
        Assert.Equal("a  Place", (await native.InvokeAsync<PlaceReply>("Place", request)).Id);
        await app.StopAsync();
    }

    [Fact]
    public static async Task Exceptions_of_methods_and_endpoints_are_logged()
    {
        ConcurrentQueue<string> lines = [];
        await using (HostedApp app = await HostedApp.StartAsync(
            builder =>
            {
                builder.Logging.AddProvider(new LogLines(lines));
                HostedApp.AddOrders(builder);
            },
            null,
            ("ProtoRpc:Endpoints:0", "ncacn_ip_tcp:127.0.0.1[0]")))
        {
            await using RpcClient client = RpcClient.Connect(
                app.Server.Endpoints[0], RpcSchema.FromDescriptors(OrdersReflection.Descriptor));
            await Assert.ThrowsAsync<RpcException>(
                () => client.InvokeAsync<PlaceReply>("Place", new PlaceRequest()));
            await app.Application.StopAsync();
        }

        Assert.Contains(lines, line => line.StartsWith("Error ProtoRpc.RpcServer: shop.Orders/Place")
            && line.EndsWith("InvalidOperationException"));
        Assert.Contains(lines, line => line.Contains(": Listening on ncacn_ip_tcp:127.0.0.1["));
        Assert.Contains(lines, line => line.Contains(": Stopped listening on ncacn_ip_tcp:127.0.0.1["));
    }
}

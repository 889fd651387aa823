using System.Security.Principal;
using Microsoft.AspNetCore.Builder;
using OpenTelemetry;
using OpenTelemetry.Trace;
using ProtoRpc.Http.Tests.Hosting;
using Shop;

namespace ProtoRpc.Http.Tests.Docs.Examples;

/// <summary>The examples of the XML docs of applications, HTTP endpoints, generated stubs and
/// telemetry.</summary>
internal static class HttpExamples
{
    public static WebApplication Host()
    {
        // <RpcHosting>
        var builder = WebApplication.CreateBuilder();
        builder.Services.AddProtoRpc()
            .AddService<OrdersService>(OrdersReflection.Descriptor.Services[0]);

        var app = builder.Build();
        app.MapProtoRpc();
        // </RpcHosting>
        return app;
    }

    public static WebApplication HostWithOptions()
    {
        var builder = WebApplication.CreateBuilder();

        // <RpcHostOptions>
        builder.Services.AddProtoRpc(options =>
            {
                options.Endpoints.Add("ncalrpc:[Orders]");
                options.Server = new() { Limits = new() { MaxConcurrentCalls = 100 } };
            })
            .AddService<OrdersService>(OrdersReflection.Descriptor.Services[0]);
        // </RpcHostOptions>
        return builder.Build();
    }

    public static void Admin(WebApplication app, RpcSchema schema, RpcHandler CountAsync)
    {
        // <MapProtoRpc>
        app.MapGroup("/admin").MapProtoRpc(RpcServer.Create(schema).Handle("Count", CountAsync))
            .RequireAuthorization("admin");
        // </MapProtoRpc>
    }

    public static async Task<RpcStatusCode> ServeAsync(RpcSchema schema, string address)
    {
        // <HttpHosting>
        await using RpcServer server = RpcServer.Create(
                schema, "shop.Orders", new RpcServerOptions().WithHttp())
            .AddEndpoint(address)
            .StartListening();
        // </HttpHosting>
        await using RpcClient client = await RpcClient.ConnectAsync(server.Endpoints[0]);
        return (await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync("Place", new PlaceRequest()))).Code;
    }

    public static RpcServerOptions Options()
    {
        // <HttpServerOptions>
        RpcServerOptions options = new RpcServerOptions().WithHttp(new HttpServerOptions
        {
            AllowedOrigins = ["https://shop.example"],
            EnableReflection = false,
        });
        // </HttpServerOptions>
        return options;
    }

    public static HttpServerOptions Check(IReadOnlyDictionary<string, string> users)
    {
        // <HttpServerSecurity>
        HttpServerSecurity security = new()
        {
            Bearer = (token, cancellation) => ValueTask.FromResult<IIdentity?>(
                users.TryGetValue(token, out string? name) ? new GenericIdentity(name) : null),
        };
        HttpServerOptions options = new() { Security = security };
        // </HttpServerSecurity>
        return options;
    }

    public static async Task<string> StubsAsync(RpcClient client)
    {
        // <GrpcStubs>
        Orders.OrdersClient orders = new(client.CreateCallInvoker());
        PlaceReply reply = await orders.PlaceAsync(new PlaceRequest { Order = new Order { Id = "o1" } });
        // </GrpcStubs>
        return reply.Id;
    }

    public static string Describe(RpcSchema schema)
    {
        // <RpcOpenApi>
        string document = RpcOpenApi.Write(
            schema.Services,
            new RpcOpenApiOptions { Title = "Orders", ServerUrl = "https://shop.example" });
        // </RpcOpenApi>
        return document;
    }

    public static bool Export()
    {
        // <RpcDiagnostics>
        using TracerProvider tracing = Sdk.CreateTracerProviderBuilder()
            .AddSource(RpcDiagnostics.ActivitySourceName)
            .Build();
        // </RpcDiagnostics>
        return tracing.ForceFlush();
    }
}

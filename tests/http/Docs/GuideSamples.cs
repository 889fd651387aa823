using System.Security.Principal;
using System.Text;
using Google.Protobuf;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.TestHost;
using OpenTelemetry;
using OpenTelemetry.Metrics;
using OpenTelemetry.Trace;
using Shop;

namespace ProtoRpc.Http.Tests.Docs;

/// <summary>The code of README.md and of the pages in docs/csharp that serves, and that compares
/// schemas.</summary>
internal static class GuideSamples
{
    public static void Hello(TextWriter output)
    {
        TextWriter Console = output;

        // <hello>
        RpcSchema schema = RpcSchema.Load(["protos/sample.proto"]);
        using RpcServer server = RpcServer.Create(schema, "Sample.MyService")
            .HandleDynamic("Send", (context, request) =>
            {
                Console.WriteLine($"{context.User.Name} says: {request["message"]}");
                return new { };
            })
            .AddEndpoint("ncalrpc:[MyService]")
            .StartListening();
        using RpcClient client = RpcClient.Connect("ncalrpc:[MyService]", schema);
        client.Invoke("Send", new { message = "Hello via LRPC!" });
        // </hello>
    }

    public static IEnumerable<RpcBreakingRule> Compare(string released, string planned)
    {
        // <compare>
        IReadOnlyList<RpcBreakingChange> changes =
            RpcSchemaComparison.Compare(RpcSchema.Load([released]), RpcSchema.Load([planned]));
        // </compare>
        return changes.Select(change => change.Rule);
    }

    public static async Task<string> ServeAsync(string address, string web)
    {
        // <serve>
        RpcSchema schema = RpcSchema.FromDescriptors(OrdersReflection.Descriptor);
        await using RpcServer server = RpcServer.Create(
                schema, "shop.Orders",
                new RpcServerOptions { Interceptors = [new StockInterceptor()] }.WithHttp())
            .Handle<PlaceRequest, PlaceReply>("Place", (context, request) =>
                new PlaceReply { Id = request.Order.Id, Total = request.Order.Items.Count })
            .HandleStreaming<WatchRequest, OrderEvent>("Watch", WatchAsync)
            .AddEndpoint("ncalrpc:[Orders]")
            .AddEndpoint(address)
            .AddEndpoint(web)
            .StartListening();
        // </serve>
        await using RpcClient client = await RpcClient.ConnectAsync(server.Endpoints[1]);
        PlaceReply reply = await client.InvokeAsync<PlaceReply>(
            "Place", new PlaceRequest { Order = new Order { Id = "o1", Items = { "tea" } } });
        int events = await client.InvokeServerStreamAsync<OrderEvent>("Watch", new WatchRequest { Id = "o1" })
            .CountAsync();
        RpcException empty = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync<PlaceReply>("Place", new PlaceRequest()));
        using HttpClient http = new();
        string json = await http.GetStringAsync(
            new Uri($"{server.Endpoints[2]}shop.Orders/Watch?id=o2"));

        // <stop>
        await server.StopAsync(TimeSpan.FromSeconds(20));
        // </stop>
        return $"{reply.Id} {reply.Total} {events} {empty.Code} {json.Split('\n')[0]}";
    }

    public static async Task<string> CheckAsync(IReadOnlyDictionary<string, string> users, string token)
    {
        // <check>
        RpcServerOptions options = new RpcServerOptions().WithHttp(new HttpServerOptions
        {
            Security = new HttpServerSecurity
            {
                Bearer = (token, cancellation) => ValueTask.FromResult<IIdentity?>(
                    users.TryGetValue(token, out string? name) ? new GenericIdentity(name) : null),
            },
        });
        // </check>
        RpcSchema schema = RpcSchema.FromDescriptors(OrdersReflection.Descriptor);
        await using RpcServer server = RpcServer.Create(schema, "shop.Orders", options)
            .Handle<PlaceRequest, PlaceReply>(
                "Place", (context, _) => new PlaceReply { Id = context.User.Name })
            .AddEndpoint("grpc://127.0.0.1:0")
            .StartListening();
        RpcClientSecurity security = new() { Authentication = RpcClientAuthentication.Bearer, Token = token };
        await using RpcClient client = await RpcClient.ConnectAsync(
            server.Endpoints[0], schema, new RpcClientOptions { Security = security });
        try
        {
            return (await client.InvokeAsync<PlaceReply>("Place", new PlaceRequest())).Id;
        }
        catch (RpcException e)
        {
            return $"{e.Code}";
        }
    }

    // <watch>
    private static async IAsyncEnumerable<OrderEvent> WatchAsync(
        RpcServerCallContext context, IAsyncEnumerable<WatchRequest> requests)
    {
        WatchRequest request = await requests.FirstAsync(context.CancellationToken);
        for (int number = 1; number <= 3; number++)
        {
            yield return new OrderEvent { Number = number, Text = request.Id };
        }
    }
    // </watch>

    public static async Task<string> RawAsync()
    {
        // <raw>
        Guid interfaceId = new("8c5b4f2e-6c1d-4a53-9f3b-2f1f7a1f4b10");
        await using RpcRawServer server = RpcRawServer.Create(interfaceId)
            .OnExecute((client, request) =>
                Encoding.UTF8.GetBytes(Encoding.UTF8.GetString(request).ToUpperInvariant()))
            .AddEndpoint("ncalrpc:[Upper]")
            .StartListening();

        await using RpcRawClient client = await RpcRawClient.ConnectAsync("ncalrpc:[Upper]", interfaceId);
        byte[] reply = await client.ExecuteAsync("hello"u8.ToArray());
        // </raw>
        return Encoding.UTF8.GetString(reply);
    }

    public static void Observe(RpcServerOptions[] observed)
    {
        TextWriter Console = TextWriter.Null;

        // <accesslog>
        RpcServerOptions toFile = new() { AccessLog = RpcAccessLog.ToFile("access.jsonl") };
        RpcServerOptions toMethod = new()
        {
            AccessLog = RpcAccessLog.To(
                call => Console.WriteLine($"{call.Peer} {call.Method} {call.Status}")),
        };
        // </accesslog>
        observed[0] = toFile;
        observed[1] = toMethod;
    }

    public static RpcClientOptions Trace()
    {
        // <trace>
        RpcClientOptions options = new() { Trace = RpcTrace.To(entry => Console.Error.WriteLine(entry)) };
        // </trace>
        return options;
    }

    public static void Mock(RpcSchema schema)
    {
        // <mock>
        using RpcMock mock = RpcMock.Create(schema)
            .Reply("Place", new { id = "o1" }, new RpcException(RpcStatusCode.Unavailable, "down"))
            .StartListening();
        using RpcClient client = RpcClient.Connect(mock.Endpoint, schema);

        client.Invoke("Place", new { order = new { id = "o1" } });

        DynamicMessage request = mock.CallsOf("Place")[0].Requests[0];
        Assert.Equal("o1", ((DynamicMessage)request["order"]!)["id"]);
        // </mock>
        Assert.Equal(
            RpcStatusCode.Unavailable,
            Assert.Throws<RpcException>(() => client.Invoke("Place", new { })).Code);
    }

    public static bool Export()
    {
        // <telemetry>
        using TracerProvider tracing = Sdk.CreateTracerProviderBuilder()
            .AddSource(RpcDiagnostics.ActivitySourceName)
            .Build();
        using MeterProvider metering = Sdk.CreateMeterProviderBuilder()
            .AddMeter(RpcDiagnostics.MeterName)
            .Build();
        // </telemetry>
        return tracing.ForceFlush() && metering.ForceFlush();
    }

    public static async Task<string> TestServerAsync(WebApplication app)
    {
        // <testserver>
        RpcClientOptions options = new() { HttpHandler = app.GetTestServer().CreateHandler };
        await using RpcClient client = await RpcClient.ConnectAsync("grpc://localhost:80", options);
        // </testserver>
        return (await client.InvokeAsync<PlaceReply>(
            "Place", new PlaceRequest { Order = new Order { Id = "a" } })).Id;
    }

    public static void Admin(WebApplication app, RpcSchema schema, RpcHandler CountAsync)
    {
        // <admin>
        app.MapGroup("/admin").MapProtoRpc(RpcServer.Create(schema).Handle("Count", CountAsync))
            .RequireAuthorization("admin");
        // </admin>
    }
}

// <interceptor>
internal sealed class StockInterceptor : IRpcInterceptor
{
    public async ValueTask<IMessage> InvokeAsync(
        RpcServerCallContext context, IMessage request, RpcHandler next)
    {
        if (request is PlaceRequest { Order: null })
        {
            throw new RpcException(RpcStatusCode.InvalidArgument, "An order is required.");
        }

        context.ReplyTrailers.Add("x-stock", "checked");
        return await next(context, request);
    }
}
// </interceptor>

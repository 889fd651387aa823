using System.Runtime.CompilerServices;
using Google.Protobuf;
using Google.Protobuf.WellKnownTypes;
using Shop;

namespace ProtoRpc.TrimmedTests;

/// <summary>A server with handlers of generated and of dynamic messages, on every kind of endpoint that each
/// system has.</summary>
internal static class ServerChecks
{
    private static readonly RpcSchema Generated = RpcSchema.FromDescriptors(OrdersReflection.Descriptor);

    // As if it came from a file: nothing here leads to the generated classes.
    private static readonly RpcSchema Loaded = RpcSchema.FromDescriptorSet(Generated.ToDescriptorSet());

    public static async Task RunAsync(Checks checks)
    {
        await checks.RunAsync("dynamic code is not supported", () =>
        {
            Checks.Equal(false, RuntimeFeature.IsDynamicCodeSupported);
            return Task.CompletedTask;
        });
        foreach (bool isDynamic in new[] { false, true })
        {
            await using RpcServer server = Start(isDynamic);
            foreach (RpcEndpoint endpoint in server.Endpoints)
            {
                await RunAsync(checks, endpoint, $"{endpoint.Transport}, dynamic server: {isDynamic}");
            }
        }

        await checks.RunAsync("messages are converted to every format", ConvertAsync);
    }

    private static RpcServer Start(bool isDynamic)
    {
        RpcServer server = RpcServer.Create(
            isDynamic ? Loaded : Generated, "shop.Orders", new RpcServerOptions().WithHttp());
        server = isDynamic
            ? server.Handle(
                "Place", (_, request) => new ValueTask<IMessage>(PlaceDynamic((DynamicMessage)request)))
            : server.Handle<PlaceRequest, PlaceReply>("Place", (_, request) => Place(request));
        return server
            .Handle("Count", (_, _) => throw new InvalidOperationException("There is nothing to count."))
            .AddEndpoint($"inproc://trimmed-{Guid.NewGuid():N}")
            .AddEndpoint("tcp://127.0.0.1:0")
            .AddEndpoint($"local://trimmed-{Guid.NewGuid():N}")
            .AddEndpoint("http://127.0.0.1:0")
            .AddEndpoint("grpc://127.0.0.1:0")
            .StartListening();
    }

    private static PlaceReply Place(PlaceRequest request) => request.Order is null
        ? throw NoOrder()
        : new PlaceReply
        {
            Id = $"{request.Order.Id} {request.Order.PlacedAt?.ToDateTime():yyyy}",
            Total = request.Order.Items.Count,
        };

    private static DynamicMessage PlaceDynamic(DynamicMessage request)
    {
        DynamicMessage order = (DynamicMessage?)request["order"] ?? throw NoOrder();
        DynamicMessage? placed = (DynamicMessage?)order["placedAt"];
        DynamicMessage reply = new(Loaded.GetMessage("shop.PlaceReply"));
        reply["id"] = $"{order["id"]} {DateTimeOffset.FromUnixTimeSeconds((long)placed!["seconds"]!):yyyy}";
        reply["total"] = ((System.Collections.ICollection)order["items"]!).Count;
        return reply;
    }

    private static RpcException NoOrder() => new(RpcStatusCode.NotFound, "There is no order.");

    private static async Task RunAsync(Checks checks, RpcEndpoint endpoint, string where)
    {
        await checks.RunAsync($"a generated message, {where}", async () =>
        {
            await using RpcClient client = await RpcClient.ConnectAsync(endpoint, Generated);
            PlaceReply reply = await client.InvokeAsync<PlaceReply>("Place", new PlaceRequest
            {
                Order = new Order
                {
                    Id = "o1", Items = { "tea", "cups" },
                    PlacedAt = Timestamp.FromDateTime(new DateTime(2026, 5, 4, 0, 0, 0, DateTimeKind.Utc)),
                },
            });

            Checks.Equal("o1 2026", reply.Id);
            Checks.Equal(2, reply.Total);
        });
        await checks.RunAsync($"a dictionary, {where}", async () =>
        {
            await using RpcClient client = await RpcClient.ConnectAsync(endpoint, Loaded);
            DynamicMessage reply = await client.InvokeAsync("Place", new Dictionary<string, object?>
            {
                ["order"] = new Dictionary<string, object?>
                {
                    ["id"] = "o2", ["items"] = new[] { "tea" }, ["placedAt"] = "2025-01-01T00:00:00Z",
                },
            });

            Checks.Equal("o2 2025", reply["id"]);
            Checks.Equal(1, reply["total"]);
        });
        await checks.RunAsync($"the exception of a handler, {where}", async () =>
        {
            await using RpcClient client = await RpcClient.ConnectAsync(endpoint, Loaded);
            RpcException error = await Checks.ThrowsAsync<RpcException>(
                () => client.InvokeAsync("Count", new Empty()));

            Checks.Equal(RpcStatusCode.Unknown, error.Code);
            if (endpoint.Transport is RpcTransport.Local)
            {
                Checks.Equal(typeof(InvalidOperationException), error.InnerException?.GetType());
                Checks.Equal("There is nothing to count.", error.InnerException?.Message);
            }
        });
        await checks.RunAsync($"what a handler says to its caller, {where}", async () =>
        {
            await using RpcClient client = await RpcClient.ConnectAsync(endpoint, Loaded);
            RpcException error = await Checks.ThrowsAsync<RpcException>(
                () => client.InvokeAsync("Place", new Dictionary<string, object?>()));

            Checks.Equal(RpcStatusCode.NotFound, error.Code);
            Checks.Equal("There is no order.", error.Message);
        });
        await checks.RunAsync($"an object with properties, {where}", async () =>
        {
            await using RpcClient client = await RpcClient.ConnectAsync(endpoint, Loaded);
            RpcException error = await Checks.ThrowsAsync<RpcException>(
                () => client.InvokeAsync("Place", new { order = new { id = "o3" } }));

            Checks.Equal(RpcErrorIds.TrimmedType, error.ErrorId);
        });
    }

    private static Task ConvertAsync()
    {
        PlaceReply generated = new() { Id = "o4", Total = -1 };
        DynamicMessage dynamic = new(Loaded.GetMessage("shop.PlaceReply"));
        dynamic["id"] = "o4";
        dynamic["total"] = "-1";
        foreach (MessageFormat format in MessageFormats.All)
        {
            foreach (IMessage message in new IMessage[] { generated, dynamic })
            {
                byte[] text = format.ToArray(message);
                Checks.Equal(dynamic, format.Read(dynamic.Type, text));
            }
        }

        return Task.CompletedTask;
    }
}

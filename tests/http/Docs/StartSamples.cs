using Shop;

namespace ProtoRpc.Http.Tests.Docs;

/// <summary>The code of docs/csharp/README.md and docs/csharp/errors.md.</summary>
internal static class StartSamples
{
    public static async Task<string> StartAsync(string address)
    {
        using StringWriter output = new();
        TextWriter Console = output;

        // <first>
        await using RpcServer server = RpcServer.Create(
                RpcSchema.FromDescriptors(OrdersReflection.Descriptor), "shop.Orders",
                new RpcServerOptions().WithHttp())
            .Handle<PlaceRequest, PlaceReply>("Place", (context, request) =>
                new PlaceReply { Id = request.Order.Id, Total = request.Order.Items.Count })
            .AddEndpoint(address)
            .StartListening();
        // </first>
        RpcEndpoint local = server.Endpoints[0];

        // <firstcall>
        await using RpcClient client = await RpcClient.ConnectAsync(local);
        PlaceReply reply = await client.InvokeAsync<PlaceReply>(
            "Place", new PlaceRequest { Order = new Order { Id = "o1", Items = { "tea" } } });
        Console.WriteLine($"{reply.Id}: {reply.Total}");
        // </firstcall>
        return output.ToString();
    }

    public static async Task<string> FailWithDetailAsync(RpcSchema schema, string address, Order order)
    {
        using StringWriter output = new();
        TextWriter Console = output;

        // <detail>
        RpcServer server = RpcServer.Create(schema, "shop.Orders")
            .Handle<PlaceRequest, PlaceReply>("Place", (context, request) =>
                request.Order.Items.Contains("tea")
                    ? throw new RpcException(RpcStatusCode.FailedPrecondition, "Tea is sold out.")
                    {
                        Details = [new OrderEvent { Text = "tea" }],
                    }
                    : new PlaceReply { Id = request.Order.Id });
        // </detail>
        await using RpcServer listening = server.AddEndpoint(address).StartListening();
        await using RpcClient client = await RpcClient.ConnectAsync(listening.Endpoints[0], schema);
        PlaceRequest request = new() { Order = order };

        // <readdetail>
        try
        {
            await client.InvokeAsync<PlaceReply>("Place", request);
        }
        catch (RpcException e) when (e.GetDetail<OrderEvent>() is { } soldOut)
        {
            Console.WriteLine($"Sold out: {soldOut.Text}");
        }
        // </readdetail>
        return output.ToString();
    }
}

using Grpc.Core;
using Shop;

namespace ProtoRpc.Http.Tests.Docs.Stubs;

/// <summary>The code of docs/recipes/csharp-stubs.md.</summary>
internal static class RecipeSamples
{
    public static async Task<string[]> ServeAsync(PlaceRequest request, CancellationToken stop)
    {
        using StringWriter output = new();
        TextWriter Console = output;

        // <stubrecipe>
        await using RpcServer server = RpcServer.Create(new RpcServerOptions().WithHttp())
            .AddGrpcService(new StockOrders())
            .AddEndpoint("ncalrpc:[StockOrders]")
            .AddEndpoint("ncacn_ip_tcp:127.0.0.1[0]")
            .AddEndpoint("grpc://127.0.0.1:0")
            .AddEndpoint("http://127.0.0.1:0/")
            .StartListening();
        foreach (RpcEndpoint endpoint in server.Endpoints)
        {
            await using RpcClient client = await RpcClient.ConnectAsync(endpoint, cancellationToken: stop);
            Orders.OrdersClient orders = new(client.CreateCallInvoker());
            PlaceReply reply = await orders.PlaceAsync(request, cancellationToken: stop);
            Console.WriteLine($"{endpoint}: {reply.Total}");
        }
        // </stubrecipe>
        return output.ToString().Split(Environment.NewLine, StringSplitOptions.RemoveEmptyEntries);
    }
}

// <stubclass>
internal sealed class StockOrders : Orders.OrdersBase
{
    public override Task<PlaceReply> Place(PlaceRequest request, ServerCallContext context) =>
        Task.FromResult(new PlaceReply { Id = request.Order.Id, Total = request.Order.Items.Count });
}
// </stubclass>

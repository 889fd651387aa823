using Grpc.Core;
using Shop;
using GrpcException = Grpc.Core.RpcException;

namespace ProtoRpc.Http.Tests.Docs.Stubs;

/// <summary>The code of docs/csharp/grpc-stubs.md with generated gRPC clients and services.</summary>
internal static class StubSamples
{
    public static async Task<string> ServeAsync(string address, PlaceRequest request, CancellationToken stop)
    {
        // <stubserver>
        await using RpcServer server = RpcServer.Create(new RpcServerOptions().WithHttp())
            .AddGrpcService(new OrdersService())
            .AddEndpoint("ncalrpc:[GeneratedOrders]")
            .AddEndpoint(address)
            .StartListening();
        // </stubserver>
        string local = await CallAsync(server.Endpoints[0].ToString(), request, stop);
        string other = await CallAsync(server.Endpoints[1].ToString(), request, stop);
        Assert.Equal(local, other);
        return local;
    }

    private static async Task<string> CallAsync(string address, PlaceRequest request, CancellationToken stop)
    {
        using StringWriter output = new();
        TextWriter Console = output;

        // <stubclient>
        await using RpcClient client = await RpcClient.ConnectAsync(address, cancellationToken: stop);
        Orders.OrdersClient orders = new(client.CreateCallInvoker());
        try
        {
            PlaceReply reply = await orders.PlaceAsync(request, deadline: DateTime.UtcNow.AddSeconds(5));
            Console.WriteLine(reply.Total);
        }
        catch (GrpcException e) when (e.StatusCode == StatusCode.InvalidArgument)
        {
            Console.WriteLine(e.Status.Detail);
        }
        // </stubclient>
        return output.ToString();
    }
}

// <stubservice>
internal sealed class OrdersService : Orders.OrdersBase
{
    public override Task<PlaceReply> Place(PlaceRequest request, ServerCallContext context)
    {
        if (request.Order is null)
        {
            throw new GrpcException(new Status(StatusCode.InvalidArgument, "An order is required."));
        }

        context.ResponseTrailers.Add("x-user", context.GetRpcContext().User.Name ?? "");
        return Task.FromResult(new PlaceReply { Id = request.Order.Id, Total = request.Order.Items.Count });
    }

    public override async Task Watch(
        WatchRequest request, IServerStreamWriter<OrderEvent> replies, ServerCallContext context)
    {
        for (int number = 1; number <= 3; number++)
        {
            await replies.WriteAsync(new OrderEvent { Number = number, Text = request.Id });
        }
    }
}
// </stubservice>

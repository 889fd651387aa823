using Grpc.Core;
using Shop;
using GrpcException = Grpc.Core.RpcException;

namespace ProtoRpc.TrimmedTests;

/// <summary>A generated gRPC client and a generated service, on endpoints of each protocol.</summary>
internal static class StubChecks
{
    public static async Task RunAsync(Checks checks)
    {
        await using RpcServer server = RpcServer.Create(new RpcServerOptions().WithHttp())
            .AddGrpcService(new OrdersService())
            .AddEndpoint($"inproc://trimmed-{Guid.NewGuid():N}")
            .AddEndpoint("tcp://127.0.0.1:0")
            .AddEndpoint("http://127.0.0.1:0")
            .AddEndpoint("grpc://127.0.0.1:0")
            .StartListening();
        foreach (RpcEndpoint endpoint in server.Endpoints)
        {
            await using RpcClient client = await RpcClient.ConnectAsync(endpoint);
            Orders.OrdersClient orders = new(client.CreateCallInvoker());
            string where = $"generated, {endpoint.Transport}";
            await checks.RunAsync($"{where}: a unary call has its reply", async () =>
            {
                PlaceRequest request = new() { Order = new Order { Id = "o1" } };
                Checks.Equal("o1", (await orders.PlaceAsync(request)).Id);
                Checks.Equal("o1", orders.Place(request).Id);
            });
            await checks.RunAsync($"{where}: a failure has its status and trailers", async () =>
            {
                GrpcException error = await Checks.ThrowsAsync<GrpcException>(
                    async () => await orders.PlaceAsync(new PlaceRequest()));
                Checks.Equal(StatusCode.InvalidArgument, error.StatusCode);
                Checks.Equal("yes", error.Trailers.GetValue("x-failed"));
            });
            if (endpoint.Transport != RpcTransport.Tcp)
            {
                await checks.RunAsync($"{where}: replies stream", async () =>
                {
                    using AsyncServerStreamingCall<OrderEvent> call = orders.Watch(
                        new WatchRequest { Id = "o2" });
                    Checks.Equal(true, await call.ResponseStream.MoveNext(CancellationToken.None));
                    Checks.Equal("o2", call.ResponseStream.Current.Text);
                    Checks.Equal(false, await call.ResponseStream.MoveNext(CancellationToken.None));
                });
            }
        }
    }

    private sealed class OrdersService : Orders.OrdersBase
    {
        public override Task<PlaceReply> Place(PlaceRequest request, ServerCallContext context) =>
            request.Order is null
                ? throw new GrpcException(
                    new Status(StatusCode.InvalidArgument, "There is no order."),
                    new Metadata { { "x-failed", "yes" } })
                : Task.FromResult(new PlaceReply { Id = request.Order.Id });

        public override Task Watch(
            WatchRequest request, IServerStreamWriter<OrderEvent> replies, ServerCallContext context) =>
            replies.WriteAsync(new OrderEvent { Text = request.Id });
    }
}

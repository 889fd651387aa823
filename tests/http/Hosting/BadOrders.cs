using Google.Protobuf.WellKnownTypes;
using Shop;

namespace ProtoRpc.Http.Tests.Hosting;

/// <summary>A class that does not fit the orders service.</summary>
public sealed class BadOrders
{
    public Task<PlaceReply> Place(WatchRequest request) =>
        Task.FromResult(new PlaceReply { Id = request.Id });

    public PlaceReply Count(Empty request) => new();

    public Task<PlaceReply> Count(Empty request, CancellationToken cancellationToken) =>
        Task.FromResult(new PlaceReply());

    public Task<OrderEvent> Watch(WatchRequest request) => Task.FromResult(new OrderEvent());

    internal static PlaceReply Import(IAsyncEnumerable<PlaceRequest> requests) => new();
}

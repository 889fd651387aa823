using Google.Protobuf.WellKnownTypes;
using Shop;

namespace ProtoRpc.TrimmedTests;

/// <summary>A method of each kind, which only reflection finds.</summary>
internal sealed class OrdersService
{
    public Task<PlaceReply> Place(PlaceRequest request) =>
        Task.FromResult(new PlaceReply { Id = request.Order.Id });

    public PlaceReply Count(Empty request) => new() { Total = 7 };

    public async IAsyncEnumerable<OrderEvent> Watch(WatchRequest request)
    {
        await Task.Yield();
        yield return new OrderEvent { Number = 1, Text = request.Id };
        yield return new OrderEvent { Number = 2, Text = request.Id };
    }

    public async ValueTask<PlaceReply> Import(IAsyncEnumerable<PlaceRequest> requests)
    {
        int total = 0;
        await foreach (PlaceRequest request in requests)
        {
            total += request.Order.Items.Count;
        }

        return new PlaceReply { Total = total };
    }

    public async IAsyncEnumerable<OrderEvent> Track(IAsyncEnumerable<WatchRequest> requests)
    {
        await foreach (WatchRequest request in requests)
        {
            yield return new OrderEvent { Text = request.Id };
        }
    }
}

using System.Runtime.CompilerServices;
using Google.Protobuf.WellKnownTypes;
using Shop;

namespace ProtoRpc.Http.Tests.Hosting;

/// <summary>The orders service, as a class of an application.</summary>
public sealed class OrdersService(CallNotes notes)
{
    public Task<PlaceReply> Place(
        PlaceRequest request, RpcServerCallContext context, CancellationToken cancellationToken)
    {
        if (request.Order is null)
        {
            throw new InvalidOperationException("There is no order.");
        }

        return Task.FromResult(new PlaceReply
        {
            Id = $"{request.Order.Id} {context.User.Name} {string.Join(',', notes.Lines)}".Trim(),
            Total = request.Order.Items.Count,
        });
    }

    public PlaceReply Count(Empty request) => new() { Total = 7 };

    public async IAsyncEnumerable<OrderEvent> WatchAsync(
        WatchRequest request, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        for (int i = 1; i <= 3; i++)
        {
            await Task.Yield();
            yield return new OrderEvent { Number = i, Text = request.Id };
        }
    }

    public async ValueTask<PlaceReply> Import(
        IAsyncEnumerable<PlaceRequest> requests, CancellationToken cancellationToken,
        RpcServerCallContext context)
    {
        int total = 0;
        await foreach (PlaceRequest request in requests.WithCancellation(cancellationToken))
        {
            total += request.Order.Items.Count;
        }

        return new PlaceReply { Id = context.Method.Name, Total = total };
    }

    public async IAsyncEnumerable<OrderEvent> Track(IAsyncEnumerable<WatchRequest> requests)
    {
        int number = 0;
        await foreach (WatchRequest request in requests)
        {
            yield return new OrderEvent { Number = ++number, Text = request.Id };
        }
    }
}

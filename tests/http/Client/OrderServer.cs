using Google.Protobuf;
using Shop;

namespace ProtoRpc.Http.Tests.Client;

/// <summary>The service of orders.proto with generated messages on endpoints of its own. An order's id says
/// what the handler does.</summary>
internal sealed class OrderServer : IDisposable
{
    private int _failures;

    public OrderServer(params string[] endpoints)
    {
        Server = RpcServer.Create(Schema, "shop.Orders", new RpcServerOptions().WithHttp())
            .Handle<PlaceRequest, PlaceReply>("Place", PlaceAsync)
            .Handle("Count", (_, _) => ValueTask.FromResult<IMessage>(new PlaceReply { Total = 42 }))
            .HandleStreaming("Watch", WatchAsync)
            .HandleStreaming("Import", ImportAsync)
            .HandleStreaming("Track", TrackAsync);
        foreach (string endpoint in endpoints)
        {
            Server.AddEndpoint(endpoint);
        }

        Server.StartListening();
    }

    public static RpcSchema Schema { get; } = RpcSchema.FromDescriptors(OrdersReflection.Descriptor);

    public RpcServer Server { get; }

    public RpcEndpoint Endpoint => Server.Endpoints[0];

    /// <summary>The headers of the calls, in their order.</summary>
    public List<RpcMetadata> Headers { get; } = [];

    /// <summary>Ends when a call that waits is cancelled.</summary>
    public TaskCompletionSource Cancelled { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>How many calls of orders named <c>fail</c> fail before one succeeds.</summary>
    public int Failures { get => _failures; set => _failures = value; }

    public static string NewLocal() => $"local://test-{Guid.NewGuid():N}";

    public void Dispose() => Server.Dispose();

    private async ValueTask<PlaceReply> PlaceAsync(RpcServerCallContext context, PlaceRequest request)
    {
        lock (Headers)
        {
            Headers.Add(context.RequestHeaders);
        }

        string id = request.Order?.Id ?? "";
        if (id == "wait")
        {
            await WaitAsync(context);
        }
        else if (id == "fail" && Interlocked.Decrement(ref _failures) >= 0)
        {
            throw new RpcException(RpcStatusCode.Aborted, "try again");
        }

        context.ReplyTrailers.Add("x-last", id.Length == 0 ? "none" : id);
        return new PlaceReply { Id = id, Total = request.Order?.Items.Count ?? 0 };
    }

    private async ValueTask WatchAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        lock (Headers)
        {
            Headers.Add(context.RequestHeaders);
        }

        IMessage request = (await stream.ReadAsync())!;
        string id = WatchRequest.Parser.ParseFrom(request.ToByteArray()).Id;
        for (int number = 1; number <= 3; number++)
        {
            await stream.WriteAsync(new OrderEvent { Number = number, Text = id });
        }

        if (id == "wait")
        {
            await WaitAsync(context);
        }
        else if (id == "fail")
        {
            throw new RpcException(RpcStatusCode.DataLoss, "in the middle");
        }
    }

    private static async ValueTask ImportAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        int total = 0;
        await foreach (IMessage request in stream.ReadAllAsync())
        {
            total += PlaceRequest.Parser.ParseFrom(request.ToByteArray()).Order.Items.Count;
        }

        await stream.WriteAsync(new PlaceReply { Total = total });
    }

    private static async ValueTask TrackAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        int number = 0;
        await foreach (IMessage request in stream.ReadAllAsync())
        {
            string id = WatchRequest.Parser.ParseFrom(request.ToByteArray()).Id;
            await stream.WriteAsync(new OrderEvent { Number = ++number, Text = id });
        }
    }

    private async Task WaitAsync(RpcServerCallContext context)
    {
        try
        {
            await Task.Delay(Timeout.Infinite, context.CancellationToken);
        }
        catch (OperationCanceledException)
        {
            Cancelled.TrySetResult();
            throw;
        }
    }
}

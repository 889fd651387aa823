using System.Globalization;
using Google.Protobuf;
using Grpc.Core;
using Grpc.Net.Client;
using ProtoBuf.Grpc;
using ProtoBuf.Grpc.Client;
using GrpcException = Grpc.Core.RpcException;

namespace ProtoRpc.Peers;

/// <summary>A client of protobuf-net.Grpc, whose contract is an interface, against our listener with the
/// schema that protobuf-net writes.</summary>
[PeerCall(
    "protobuf-net.Grpc", "gRPC", PeerSide.Client, PeerCalls.AllKinds | PeerCalls.Errors | PeerCalls.Metadata
        | PeerCalls.Cancellation)]
public sealed class CodeFirstClientTests : IDisposable
{
    private static readonly Item Whole = new()
    {
        Name = "tea",
        Count = -1,
        Day = new DateTime(2026, 11, 25, 1, 2, 3, DateTimeKind.Utc),
        Took = TimeSpan.FromSeconds(90),
        Id = Guid.Parse("00112233-4455-6677-8899-aabbccddeeff"),
        Price = -12.50m,
        Tags = { "a", "b" },
        Places = { ["x"] = 1, ["y"] = 2 },
        Colour = Colour.Green,
        Weight = 1.5,
        Image = [0, 255],
    };

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-peers-");
    private readonly TaskCompletionSource _cancelled = new(
        TaskCreationOptions.RunContinuationsAsynchronously);

    private readonly List<string> _received = [];
    private readonly RpcSchema _schema;
    private readonly RpcServer _server;
    private readonly GrpcChannel _channel;
    private readonly IStock _stock;

    public CodeFirstClientTests()
    {
        string path = Path.Combine(_folder.FullName, "stock.proto");
        File.WriteAllText(path, StockService.Schema);
        _schema = RpcSchema.Load([path], [Path.Combine(AppContext.BaseDirectory, "protos")]);
        _server = RpcServer.Create(_schema, "stock.Stock", new RpcServerOptions().WithHttp())
            .Handle("Get", GetAsync)
            .Handle("Describe", (_, request) => ValueTask.FromResult(Received(request)))
            .Handle("DescribeModern", (_, request) => ValueTask.FromResult(Received(request)))
            .Handle("Rename", (_, request) => ValueTask.FromResult(Received(request)))
            .Handle("Forget", (_, request) => ValueTask.FromResult(Received(request)))
            .HandleStreaming("List", ListAsync)
            .HandleStreaming("Sum", SumAsync)
            .HandleStreaming("Echo", async (_, stream) =>
            {
                while (await stream.ReadAsync() is { } request)
                {
                    await stream.WriteAsync(request);
                }
            })
            .AddEndpoint("grpc://127.0.0.1:0")
            .StartListening();
        _channel = GrpcNetClient.Open(_server.Endpoints[0]);
        _stock = _channel.CreateGrpcService<IStock>();
    }

    public void Dispose()
    {
        _channel.Dispose();
        _server.Dispose();
        _folder.Delete(recursive: true);
    }

    [Fact]
    public async Task Types_of_dotnet_go_both_ways()
    {
        Item reply = await _stock.DescribeAsync(Whole);

        Assert.Contains("\"signScale\":5", Assert.Single(_received), StringComparison.Ordinal);
        Assert.Equal(
            (Whole.Name, Whole.Count, Whole.Day, Whole.Took, Whole.Id, Whole.Price, Whole.Colour),
            (reply.Name, reply.Count, reply.Day, reply.Took, reply.Id, reply.Price, reply.Colour));
        Assert.Equal(Whole.Tags, reply.Tags);
        Assert.Equal(Whole.Places, reply.Places);
        Assert.Equal(1.5, reply.Weight);
        Assert.Equal([0, 255], reply.Image!);
    }

    [Fact]
    public async Task Well_known_types_go_both_ways()
    {
        Modern reply = await _stock.DescribeModernAsync(
            new() { Day = Whole.Day, Took = Whole.Took, Id = Whole.Id, Price = Whole.Price });

        Assert.Equal(
            """{"Day":"2026-11-25T01:02:03Z","Took":"90s","Id":"00112233-4455-6677-8899-aabbccddeeff","""
            + "\"Price\":\"-12.50\"}",
            Assert.Single(_received));
        Assert.Equal(
            (Whole.Day, Whole.Took, Whole.Id, Whole.Price), (reply.Day, reply.Took, reply.Id, reply.Price));
    }

    [Fact]
    public async Task A_class_that_inherits_is_a_oneof()
    {
        Dog dog = Assert.IsType<Dog>(await _stock.RenameAsync(new Dog { Name = "Rex", Barks = 3 }));
        Cat cat = Assert.IsType<Cat>(await _stock.RenameAsync(new Cat { Name = "Tom" }));
        Animal animal = await _stock.RenameAsync(new Animal { Name = "Anna" });

        Assert.Equal(("Rex", 3, "Tom", "Anna"), (dog.Name, dog.Barks, cat.Name, animal.Name));
        Assert.Equal(typeof(Animal), animal.GetType());
        Assert.Equal("""{"Name":"Rex","Dog":{"Barks":3}}""", _received[0]);
    }

    [Fact]
    public async Task Replies_and_requests_stream()
    {
        Item[] items = [new() { Name = "a", Count = 1 }, new(), new() { Name = "c", Count = 5 }];

        List<int> listed = await CountsAsync(_stock.ListAsync(new Item { Count = 3 }));
        Item sum = await _stock.SumAsync(items.ToAsyncEnumerable());
        List<int> echoed = await CountsAsync(_stock.EchoAsync(items.ToAsyncEnumerable()));

        Assert.Equal([0, 1, 2], listed);
        Assert.Equal(6, sum.Count);
        Assert.Equal([1, 0, 5], echoed);
    }

    [Fact]
    public async Task A_method_without_messages_sends_an_empty_one()
    {
        await _stock.ForgetAsync();

        Assert.Equal("{}", Assert.Single(_received));
    }

    [Fact]
    public async Task Metadata_and_failures_come_as_with_other_servers()
    {
        CallContext context = new(
            new CallOptions(new Metadata { { "x-asked", "here" } }), CallContextFlags.CaptureMetadata);

        await _stock.GetAsync(new Item(), context);
        GrpcException error = await Assert.ThrowsAsync<GrpcException>(
            () => _stock.GetAsync(new Item { Name = "fail" }));

        Assert.Equal("here", context.ResponseTrailers().GetValue("x-last"));
        Assert.Equal((StatusCode.NotFound, "no such item"), (error.StatusCode, error.Status.Detail));
    }

    [Fact]
    public async Task A_stream_that_is_read_no_further_is_cancelled_in_the_handler()
    {
        await foreach (Item item in _stock.ListAsync(new Item { Name = "wait", Count = 1 }))
        {
            Assert.Equal(0, item.Count);
            break;
        }

        await Patience.WaitAsync(_cancelled.Task);
    }

    private static async Task<List<int>> CountsAsync(IAsyncEnumerable<Item> replies)
    {
        List<int> counts = [];
        await foreach (Item reply in replies)
        {
            counts.Add(reply.Count);
        }

        return counts;
    }

    private static int CountOf(IMessage item) =>
        Convert.ToInt32(((DynamicMessage)item)["Count"], CultureInfo.InvariantCulture);

    private IMessage Received(IMessage request)
    {
        _received.Add(MessageFormats.Json.ToText(request));
        return request;
    }

    private DynamicMessage Item(int count) => new MessageMapper().ToMessage(
        _schema.GetMessage("stock.Item"), new Dictionary<string, object> { ["Count"] = count });

    private static ValueTask<IMessage> GetAsync(RpcServerCallContext context, IMessage request)
    {
        context.ReplyTrailers.Add("x-last", context.RequestHeaders.GetText("x-asked") ?? "none");
        return (string?)((DynamicMessage)request)["Name"] == "fail"
            ? throw new RpcException(RpcStatusCode.NotFound, "no such item")
            : ValueTask.FromResult(request);
    }

    private async ValueTask ListAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        IMessage request = (await stream.ReadAsync())!;
        for (int i = 0; i < CountOf(request); i++)
        {
            await stream.WriteAsync(Item(i));
        }

        if ((string?)((DynamicMessage)request)["Name"] == "wait")
        {
            try
            {
                await Task.Delay(Timeout.Infinite, context.CancellationToken);
            }
            finally
            {
                _cancelled.TrySetResult();
            }
        }
    }

    private async ValueTask SumAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        int sum = 0;
        while (await stream.ReadAsync() is { } request)
        {
            sum += CountOf(request);
        }

        await stream.WriteAsync(Item(sum));
    }
}

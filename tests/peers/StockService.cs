using System.Globalization;
using ProtoBuf;
using ProtoBuf.Grpc;
using ProtoBuf.Grpc.Configuration;
using ProtoBuf.Meta;
using ProtoBuf.WellKnownTypes;

namespace ProtoRpc.Peers;

/// <summary>A service of protobuf-net.Grpc: its contract is this interface, not a .proto file.</summary>
[Service("stock.Stock")]
public interface IStock
{
    Task<Item> GetAsync(Item item, CallContext context = default);

    IAsyncEnumerable<Item> ListAsync(Item item, CallContext context = default);

    Task<Item> SumAsync(IAsyncEnumerable<Item> items, CallContext context = default);

    IAsyncEnumerable<Item> EchoAsync(IAsyncEnumerable<Item> items, CallContext context = default);

    Task<Item> DescribeAsync(Item item);

    Task<Modern> DescribeModernAsync(Modern modern);

    ValueTask<Animal> RenameAsync(Animal animal);

    Task ForgetAsync();
}

/// <summary>A message whose types of .NET are written as those of <c>bcl.proto</c>.</summary>
[ProtoContract]
public sealed class Item
{
    [ProtoMember(1)]
    public string Name { get; set; } = "";

    [ProtoMember(2)]
    public int Count { get; set; }

    [ProtoMember(3)]
    public DateTime Day { get; set; }

    [ProtoMember(4)]
    public TimeSpan Took { get; set; }

    [ProtoMember(5)]
    public Guid Id { get; set; }

    [ProtoMember(6)]
    public decimal Price { get; set; }

    [ProtoMember(7)]
    public List<string> Tags { get; } = [];

    [ProtoMember(8)]
    public Dictionary<string, int> Places { get; } = [];

    [ProtoMember(9)]
    public Colour Colour { get; set; }

    [ProtoMember(10)]
    public double? Weight { get; set; }

    [ProtoMember(11)]
    public byte[]? Image { get; set; }
}

/// <summary>A message whose types of .NET are written as the well-known types.</summary>
[ProtoContract]
[CompatibilityLevel(CompatibilityLevel.Level300)]
public sealed class Modern
{
    [ProtoMember(1)]
    public string Name { get; set; } = "";

    [ProtoMember(2)]
    public DateTime Day { get; set; }

    [ProtoMember(3)]
    public TimeSpan Took { get; set; }

    [ProtoMember(4)]
    public Guid Id { get; set; }

    [ProtoMember(5)]
    public decimal Price { get; set; }
}

public enum Colour
{
    Red,
    Green,
}

[ProtoContract]
[ProtoInclude(10, typeof(Dog))]
[ProtoInclude(11, typeof(Cat))]
public class Animal
{
    [ProtoMember(1)]
    public string Name { get; set; } = "";
}

[ProtoContract]
public sealed class Dog : Animal
{
    [ProtoMember(1)]
    public int Barks { get; set; }
}

[ProtoContract]
public sealed class Cat : Animal
{
    [ProtoMember(1)]
    public bool Purrs { get; set; }
}

/// <summary>Serves the contract.</summary>
public sealed class StockService : IStock
{
    /// <summary>The contract as a .proto file, as protobuf-net writes it.</summary>
    public static string Schema { get; } = RuntimeTypeModel.Default.GetSchema(new SchemaGenerationOptions
    {
        Syntax = ProtoSyntax.Proto3,
        Package = "stock",
        Services =
        {
            new Service
            {
                Name = "Stock",
                Methods =
                {
                    Method("Get", typeof(Item), typeof(Item)),
                    Method("List", typeof(Item), typeof(Item), replies: true),
                    Method("Sum", typeof(Item), typeof(Item), requests: true),
                    Method("Echo", typeof(Item), typeof(Item), requests: true, replies: true),
                    Method("Describe", typeof(Item), typeof(Item)),
                    Method("DescribeModern", typeof(Modern), typeof(Modern)),
                    Method("Rename", typeof(Animal), typeof(Animal)),
                    Method("Forget", typeof(Empty), typeof(Empty)),
                },
            },
        },
    });

    /// <summary>Whether it forgot.</summary>
    public bool HasForgotten { get; private set; }

    /// <summary>Ends when the call of a method that waited is cancelled.</summary>
    public TaskCompletionSource Cancelled { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public Task<Item> GetAsync(Item item, CallContext context = default)
    {
        string? asked = context.RequestHeaders?.GetValue("x-asked");
        context.ServerCallContext!.ResponseTrailers.Add("x-last", asked ?? "none");
        return item.Name == "fail"
            ? throw new global::Grpc.Core.RpcException(
                new global::Grpc.Core.Status(global::Grpc.Core.StatusCode.NotFound, "no such item"))
            : Task.FromResult(new Item
            {
                Name = item.Name,
                Count = -1,
                Day = new DateTime(2026, 11, 25, 0, 0, 0, DateTimeKind.Utc),
                Took = TimeSpan.FromSeconds(90),
                Id = Guid.Parse("00112233-4455-6677-8899-aabbccddeeff"),
                Price = -12.50m,
                Tags = { "a", "b" },
                Places = { ["x"] = 1, ["y"] = 2 },
                Colour = Colour.Green,
                Weight = 0,
                Image = [0, 255],
            });
    }

    public async IAsyncEnumerable<Item> ListAsync(Item item, CallContext context = default)
    {
        for (int i = 0; i < item.Count; i++)
        {
            yield return new Item { Name = item.Name, Count = i };
        }

        if (item.Name == "wait")
        {
            try
            {
                await Task.Delay(Timeout.Infinite, context.CancellationToken);
            }
            finally
            {
                Cancelled.TrySetResult();
            }
        }
    }

    public async Task<Item> SumAsync(IAsyncEnumerable<Item> items, CallContext context = default)
    {
        Item sum = new();
        await foreach (Item item in items)
        {
            sum.Count += item.Count;
            sum.Name += item.Name;
        }

        return sum;
    }

    public async IAsyncEnumerable<Item> EchoAsync(IAsyncEnumerable<Item> items, CallContext context = default)
    {
        await foreach (Item item in items)
        {
            yield return item;
        }
    }

    public Task<Item> DescribeAsync(Item item) => Task.FromResult(new Item
    {
        Name = string.Create(
            CultureInfo.InvariantCulture,
            $"{item.Day:s} {item.Took} {item.Id} {item.Price} {string.Join('+', item.Tags)} "
            + $"{item.Places["x"]} {item.Colour} {item.Weight} {Convert.ToHexString(item.Image!)}"),
    });

    public Task<Modern> DescribeModernAsync(Modern modern) => Task.FromResult(new Modern
    {
        Name = string.Create(
            CultureInfo.InvariantCulture, $"{modern.Day:s} {modern.Took} {modern.Id} {modern.Price}"),
        Day = modern.Day,
        Took = modern.Took,
        Id = modern.Id,
        Price = modern.Price,
    });

    public ValueTask<Animal> RenameAsync(Animal animal)
    {
        animal.Name = $"{animal.GetType().Name} {animal.Name}";
        return ValueTask.FromResult(animal);
    }

    public Task ForgetAsync()
    {
        HasForgotten = true;
        return Task.CompletedTask;
    }

    private static ServiceMethod Method(
        string name, Type input, Type output, bool requests = false, bool replies = false) => new()
        {
            Name = name,
            InputType = input,
            OutputType = output,
            ClientStreaming = requests,
            ServerStreaming = replies,
        };
}

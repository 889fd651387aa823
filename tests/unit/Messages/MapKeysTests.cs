using System.Collections;
using ProtoRpc.Messages;

namespace ProtoRpc.Tests.Messages;

/// <summary>A peer cannot choose the keys of a map so that they collide.</summary>
public static class MapKeysTests
{
    private const int Keys = 2_000;

    // A number of buckets that .NET's dictionaries have for so many keys.
    private const int Buckets = 2_333;

    private static readonly RpcMessageInfo Maps = TestMessages.Type("proto3.Maps");

    public static TheoryData<string> Fields =>
    [
        "int32_double", "int64_float", "uint32_int32", "uint64_int64", "sint32_uint32", "sint64_uint64",
        "fixed32_sint32", "fixed64_sint64", "sfixed32_fixed32", "sfixed64_fixed64",
    ];

    [Theory]
    [MemberData(nameof(Fields))]
    public static void Keys_that_collide_for_dotnet_lie_in_many_buckets(string field)
    {
        DynamicMessage message = MessageOf(field);

        Assert.Equal(1, BucketsOf(EqualityComparer<object>.Default, message, field));
        RequireSpread(message, field);
    }

    [Theory]
    [InlineData("Binary")]
    [InlineData("Json")]
    [InlineData("Xml")]
    [InlineData("Text")]
    public static void So_it_is_in_every_format(string name)
    {
        Assert.True(MessageFormats.TryFind(name, out MessageFormat? format));
        byte[] written = format.ToArray(MessageOf("int64_float"));

        RequireSpread(format.Read(Maps, written.AsMemory()), "int64_float");
    }

    [Fact]
    public static void Copies_and_objects_are_as_the_message()
    {
        DynamicMessage message = MessageOf("int64_float");
        object shown = new MessageMapper().ToObject(message)!;
        OrderedDictionary<long, object?> map = Assert.IsType<OrderedDictionary<long, object?>>(
            ((IDictionary)shown)["int64_float"]);

        RequireSpread(message.Clone(), "int64_float");
        RequireSpread(new MessageMapper().ToMessage(Maps, shown), "int64_float");
        Assert.True(
            map.Keys.Select(key => Bucket(map.Comparer.GetHashCode(key))).Distinct().Count() > Keys / 3);
    }

    [Fact]
    public static void Messages_that_differ_in_such_a_key_have_many_hashes()
    {
        int hashes = Enumerable.Range(0, Keys).Select(i =>
        {
            DynamicMessage message = new(Maps);
            message.Set("int64_float", new Dictionary<long, float> { [(long)KeyOf("int64_float", i)] = 1 });
            return message.GetHashCode();
        }).Distinct().Count();

        Assert.True(hashes > Keys * 9 / 10);
    }

    [Fact]
    public static void Keys_are_found_as_ever()
    {
        DynamicMessage message = new(Maps);
        message.Set("bool_sfixed32", new Dictionary<bool, int> { [true] = 1, [false] = 2 });
        message.Set("uint64_int64", new Dictionary<ulong, long> { [ulong.MaxValue] = 1, [0] = 2 });
        message.Set("int32_double", new Dictionary<int, double> { [-1] = 1 });
        DynamicMessage read = DynamicMessage.Parse(Maps, message.ToByteArray());

        Assert.Equal(message, read);
        Assert.Equal(message.GetHashCode(), read.GetHashCode());
        Assert.Equal(2, MapOf(read, "bool_sfixed32")[false]);
        Assert.Equal(1L, MapOf(read, "uint64_int64")[ulong.MaxValue]);
        Assert.Equal(1D, MapOf(read, "int32_double")[-1]);
        Assert.False(MapOf(read, "int32_double").ContainsKey(-1L));
    }

    private static void RequireSpread(DynamicMessage message, string field)
    {
        Assert.Equal(Keys, MapOf(message, field).Count);
        Assert.True(BucketsOf(MapOf(message, field).Comparer, message, field) > Keys / 3);
    }

    private static int BucketsOf(IEqualityComparer<object> comparer, DynamicMessage message, string field) =>
        MapOf(message, field).Keys.Select(key => Bucket(comparer.GetHashCode(key))).Distinct().Count();

    private static uint Bucket(int hash) => (uint)hash % Buckets;

    private static OrderedDictionary<object, object> MapOf(DynamicMessage message, string field) =>
        (OrderedDictionary<object, object>)message.Get(field)!;

    private static DynamicMessage MessageOf(string name)
    {
        RpcFieldInfo field = Maps.FindField(name)!;
        Type value = ScalarValue.TypeOf(field.MessageType!.Fields[1].Kind);
        Hashtable map = [];
        for (int i = 0; i < Keys; i++)
        {
            map[KeyOf(name, i)] = Convert.ChangeType(1, value, null);
        }

        DynamicMessage message = new(Maps);
        message.Set(field, map);
        return message;
    }

    // Keys of one bucket: all have one hash for .NET, or hashes that are multiples of the number of buckets.
    private static object KeyOf(string field, int i)
    {
        ulong number = (ulong)i;
        ulong wide = (number << 32) | (number ^ 0x1234567);
        return MessageLayout.For(Maps).Find(field)!.Key.Kind switch
        {
            RpcFieldKind.Int64 or RpcFieldKind.SInt64 or RpcFieldKind.SFixed64 => (long)wide,
            RpcFieldKind.UInt64 or RpcFieldKind.Fixed64 => wide,
            RpcFieldKind.UInt32 or RpcFieldKind.Fixed32 => (uint)(i * Buckets),
            _ => i * Buckets,
        };
    }
}

using System.Collections;
using System.Collections.Specialized;
using System.Dynamic;
using System.Numerics;
using Google.Protobuf;
using ProtoRpc.Messages;
using ProtoRpc.Schema;
using ProtoRpc.Tests.Schema;
using static ProtoRpc.Tests.Messages.TestMessages;

namespace ProtoRpc.Tests.Messages;

public static class MessageMapperTests
{
    private static readonly MessageMapper Mapper = new();

    public static TheoryData<string, object, object> Accepted() => new()
    {
        { "f_int32", 5, 5 },
        { "f_int32", (byte)5, 5 },
        { "f_int32", (sbyte)-5, -5 },
        { "f_int32", (short)-5, -5 },
        { "f_int32", (ushort)5, 5 },
        { "f_int32", 5U, 5 },
        { "f_int32", -5L, -5 },
        { "f_int32", 5UL, 5 },
        { "f_int32", (nint)5, 5 },
        { "f_int32", 3.0, 3 },
        { "f_int32", 3f, 3 },
        { "f_int32", (Half)3, 3 },
        { "f_int32", 3.00m, 3 },
        { "f_int32", new BigInteger(3), 3 },
        { "f_int32", (Int128)3, 3 },
        { "f_int32", (UInt128)3, 3 },
        { "f_int32", " -12 ", -12 },
        { "f_int32", "3.0", 3 },
        { "f_int32", "1e3", 1000 },
        { "f_int32", DayOfWeek.Friday, 5 },
        { "f_int32", int.MinValue, int.MinValue },
        { "f_sint32", "2147483647", int.MaxValue },
        { "f_sfixed32", -1.0, -1 },
        { "f_uint32", 4294967295.0, uint.MaxValue },
        { "f_fixed32", "4294967295", uint.MaxValue },
        { "f_int64", "-9223372036854775808", long.MinValue },
        { "f_sint64", 5, 5L },
        { "f_sfixed64", 5, 5L },
        { "f_uint64", "18446744073709551615", ulong.MaxValue },
        { "f_fixed64", 1e18, 1_000_000_000_000_000_000UL },
        { "f_double", 5, 5.0 },
        { "f_double", 5m, 5.0 },
        { "f_double", 1.5f, 1.5 },
        { "f_double", " -1.5e3 ", -1500.0 },
        { "f_double", "NaN", double.NaN },
        { "f_double", "Infinity", double.PositiveInfinity },
        { "f_double", "-infinity", double.NegativeInfinity },
        { "f_float", 1.5, 1.5f },
        { "f_float", double.PositiveInfinity, float.PositiveInfinity },
        { "f_float", "NaN", float.NaN },
        { "f_float", float.MaxValue, float.MaxValue },
        { "f_bool", true, true },
        { "f_bool", "True", true },
        { "f_bool", "false", false },
        { "f_bool", 1, true },
        { "f_bool", 0, false },
        { "f_string", "text", "text" },
        { "f_string", "", "" },
        { "f_string", 'c', "c" },
        { "f_string", 1.5, "1.5" },
        { "f_string", 42L, "42" },
        { "f_string", DayOfWeek.Friday, "Friday" },
        { "f_string", new Guid(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), "00000001-0002-0003-0405-060708090a0b" },
        { "f_string", new Uri("http://x/ä"), "http://x/ä" },
        { "f_string", new Version(1, 2), "1.2" },
        { "f_string", System.Net.IPAddress.Loopback, "127.0.0.1" },
        { "f_string", new DateTime(2024, 2, 29, 1, 2, 3, DateTimeKind.Utc), "2024-02-29T01:02:03.0000000Z" },
        { "f_bytes", new byte[] { 1, 2 }, new byte[] { 1, 2 } },
        { "f_bytes", new ReadOnlyMemory<byte>([1, 2]), new byte[] { 1, 2 } },
        { "f_bytes", new Memory<byte>([1, 2]), new byte[] { 1, 2 } },
        { "f_bytes", ByteString.CopyFrom(1, 2), new byte[] { 1, 2 } },
        { "f_bytes", new MemoryStream([1, 2]), new byte[] { 1, 2 } },
        { "f_bytes", new object[] { 1, 2L, (byte)255 }, new byte[] { 1, 2, 255 } },
        { "f_bytes", new List<byte> { 1 }, new byte[] { 1 } },
        { "f_bytes", "+/8=", new byte[] { 0xFB, 0xFF } },
        { "f_bytes", "-_8", new byte[] { 0xFB, 0xFF } },
        { "f_bytes", " AQI= ", new byte[] { 1, 2 } },
        { "f_bytes", "", Array.Empty<byte>() },
        { "f_enum", "RED", 1 },
        { "f_enum", "green", 2 },
        { "f_enum", "AZURE", 3 },
        { "f_enum", 3, 3 },
        { "f_enum", "-1", -1 },
        { "f_enum", 2.0, 2 },
        { "f_enum", ConsoleColor.Red, 1 },
        { "f_enum", DayOfWeek.Tuesday, 2 },
    };

    public static TheoryData<string, object, string> Refused() => new()
    {
        { "f_int32", 2147483648L, "does not fit into int32, which takes numbers from -2147483648" },
        { "f_int32", 3.5, "is not a whole number; int32 takes numbers from -2147483648" },
        { "f_int32", double.NaN, "is not a whole number" },
        { "f_int32", 1e300, "does not fit" },
        { "f_int32", "12abc", "'12abc' (String) is not a whole number" },
        { "f_int32", "", "is not a whole number" },
        { "f_int32", true, "is not a whole number" },
        { "f_int32", 'a', "is not a whole number" },
        { "f_int32", new Hashtable(), "a dictionary with 0 keys (Hashtable) is not a whole number" },
        { "f_int32", new object[] { 1 }, "a list of 1 (Object[]) is not a whole number" },
        { "f_uint32", -1, "does not fit into uint32, which takes numbers from 0 to 4294967295" },
        { "f_uint64", -1, "from 0 to 18446744073709551615" },
        { "f_uint64", BigInteger.Pow(10, 50), "does not fit" },
        { "f_int64", 9223372036854775808UL, "from -9223372036854775808 to 9223372036854775807" },
        { "f_float", 1e39, "does not fit into float" },
        { "f_double", "1e999", "is not a number" },
        { "f_double", "abc", "is not a number" },
        { "f_double", true, "is not a number" },
        { "f_bool", "yes", "is not a bool" },
        { "f_bool", 2, "is not a bool" },
        { "f_string", true, "write 'true' or 'false' in quotes" },
        { "f_string", new Hashtable(), "is not text" },
        { "f_string", new object[] { "a" }, "is not text" },
        { "f_string", "a\uD800b", "half of a surrogate pair" },
        { "f_string", "\uDC00", "half of a surrogate pair" },
        { "f_string", new Formatted(), "is not text" },
        { "f_bytes", "***", "is not base64" },
        { "f_bytes", "A", "is not base64" },
        { "f_bytes", new object[] { 1, 256 }, "its element [1] is '256' (Int32)" },
        { "f_bytes", new object?[] { null }, "its element [0] is null" },
        { "f_bytes", 5, "is not bytes" },
        { "f_enum", "PURPLE", "is not of the enum everything.proto2.Color. Its names are RED, GREEN, BLUE" },
        { "f_enum", "GREN", "Did you mean 'GREEN'?" },
        { "f_enum", 99, "is closed; it has RED = 1" },
        { "f_enum", 1.5, "is not of the enum" },
        { "f_message", "text", "'text' (String) is not a message everything.proto2.Leaf; give a" },
        { "f_message", "text", "an object with its fields, which are text, child, children." },
        { "f_message", 5, "is not a message" },
        { "f_message", new object[] { new Hashtable() }, "is not a message" },
    };

    [Theory]
    [MemberData(nameof(Accepted))]
    public static void A_value_that_fits_is_taken(string field, object value, object expected)
    {
        DynamicMessage message = Map("proto2.Singular", (field, value));

        Assert.Equal(expected, message.Get(field));
        Assert.True(message.Has(field));
    }

    [Theory]
    [MemberData(nameof(Refused))]
    public static void A_value_that_does_not_fit_is_refused_with_path_value_and_remedy(
        string field, object value, string reason)
    {
        RpcException e = Assert.Throws<RpcException>(() => Map("proto2.Singular", (field, value)));

        Assert.Equal(RpcStatusCode.InvalidArgument, e.Code);
        Assert.Equal("InvalidFieldValue", e.ErrorId);
        Assert.Equal("Singular." + field, e.FieldPath);
        Assert.StartsWith($"Singular.{field}: ", e.Message);
        Assert.Contains(reason, e.Message);
    }

    [Fact]
    public static void Values_in_errors_are_shortened()
    {
        RpcException e = Assert.Throws<RpcException>(
            () => Map("proto2.Singular", ("f_int32", new string('x', 100_000))));

        Assert.InRange(e.Message.Length, 60, 300);
    }

    [Fact]
    public static void An_open_enum_takes_any_number()
    {
        Assert.Equal(99, Map("proto3.Singular", ("f_enum", 99)).Get("f_enum"));
    }

    [Theory]
    [InlineData("snake_case_name")]
    [InlineData("snakeCaseName")]
    [InlineData("SNAKE_CASE_NAME")]
    [InlineData("SnakeCaseName")]
    public static void Keys_are_proto_names_JSON_names_or_either_in_any_case(string key)
    {
        Assert.Equal(1, Map("proto3.Names", (key, 1)).Get("snake_case_name"));
    }

    [Fact]
    public static void A_custom_JSON_name_is_a_key()
    {
        Assert.Equal(1, Map("proto3.Names", ("@other", 1)).Get("renamed"));
    }

    [Fact]
    public static void Two_keys_for_one_field_are_refused()
    {
        RpcException e = Assert.Throws<RpcException>(
            () => Map("proto3.Names", ("snake_case_name", 1), ("snakeCaseName", 2)));

        Assert.Equal("InvalidFieldValue", e.ErrorId);
        Assert.Equal("Names.snake_case_name", e.FieldPath);
        Assert.Contains("two keys", e.Message);
    }

    [Fact]
    public static void An_unknown_key_names_path_type_and_the_nearest_name()
    {
        RpcException e = Assert.Throws<RpcException>(() => Map(
            "proto2.Leaf", ("children", new object[] { new Hashtable(), new Hashtable { ["txt"] = 1 } })));

        Assert.Equal("UnknownField", e.ErrorId);
        Assert.Equal("Leaf.children[1].txt", e.FieldPath);
        Assert.Contains("everything.proto2.Leaf has no field 'txt'. Did you mean 'text'?", e.Message);
    }

    [Fact]
    public static void An_unknown_key_far_from_all_names_lists_them()
    {
        RpcException e = Assert.Throws<RpcException>(() => Map("proto2.Leaf", ("zzzzzzzz", 1)));

        Assert.Contains("Its fields are text, child, children.", e.Message);
    }

    [Fact]
    public static void Unknown_keys_are_left_out_where_that_is_wanted()
    {
        MessageMapper lenient = new() { AllowUnknownFields = true };

        DynamicMessage message = lenient.ToMessage(
            Type("proto2.Leaf"), new { text = "a", other = 5, child = new { unknown = 1 } });

        Assert.Equal("a", message.Get("text"));
        Assert.True(message.Has("child"));
    }

    [Fact]
    public static void Null_leaves_a_field_out_and_is_an_empty_message()
    {
        DynamicMessage message = Map(
            "proto2.Singular", ("f_int32", null), ("f_message", null), ("f_string", DBNull.Value));

        Assert.Equal(new DynamicMessage(message.Type), message);
        Assert.Equal(new DynamicMessage(message.Type), Mapper.ToMessage(message.Type, null));
    }

    [Fact]
    public static void Dictionaries_and_objects_of_all_sorts_are_messages()
    {
        IDictionary<string, object?> expando = new ExpandoObject();
        expando["text"] = "a";
        object[] sources =
        [
            new Hashtable { ["text"] = "a" },
            new OrderedDictionary { ["TEXT"] = "a" },
            new Dictionary<string, string> { ["text"] = "a" },
            new OrderedDictionary<string, object> { ["text"] = "a" },
            expando,
            new { Text = "a" },
            new LeafRecord("a"),
            new LeafStruct { Text = "a" },
        ];

        Assert.All(sources, source =>
            Assert.Equal("a", Mapper.ToMessage(Type("proto2.Leaf"), source).Get("text")));
    }

    [Fact]
    public static void A_property_that_throws_is_named()
    {
        RpcException e = Assert.Throws<RpcException>(
            () => Mapper.ToMessage(Type("proto2.Leaf"), new Throwing()));

        Assert.Contains("The property Text of a ", e.Message);
        Assert.Contains("not today", e.Message);
    }

    [Fact]
    public static void Messages_of_the_same_name_are_taken_whatever_made_them()
    {
        RpcMessageInfo type = Type("proto2.Leaf");
        DynamicMessage leaf = Map("proto2.Leaf", ("text", "a"));
        RpcSchema other = RpcSchema.FromDescriptorSet(TestProtos.Everything.ToDescriptorSet());
        DynamicMessage foreign = Mapper.ToMessage(other.GetMessage(type.FullName), new { text = "a" });
        Google.Protobuf.WellKnownTypes.Timestamp generated = new() { Seconds = 5 };

        Assert.Same(leaf, Mapper.ToMessage(type, leaf));
        Assert.Equal(leaf, Mapper.ToMessage(type, foreign));
        Assert.Equal(leaf, Map("proto2.Singular", ("f_message", foreign)).Get("f_message"));
        Assert.Equal(
            generated.ToByteArray(),
            ((DynamicMessage)Map("proto3.WellKnown", ("timestamp", generated)).Get("timestamp")!).ToByteArray(
                ));
        RpcException e = Assert.Throws<RpcException>(() => Map("proto3.Singular", ("f_message", leaf)));
        Assert.Contains(
            "is a message everything.proto2.Leaf, where a everything.proto3.Leaf is needed", e.Message);
    }

    [Fact]
    public static void A_repeated_field_takes_sequences_and_single_values()
    {
        Assert.Equal(
            [1, 2], (List<int>)Map("proto3.Repeated", ("f_int32", new object[] { 1, "2" })).Get("f_int32")!);
        Assert.Equal([1, 2], (List<int>)Map("proto3.Repeated", ("f_int32", new[] { 1, 2 })).Get("f_int32")!);
        Assert.Equal([7], (List<int>)Map("proto3.Repeated", ("f_int32", 7)).Get("f_int32")!);
        Assert.Equal(
            [1, 2], (List<int>)Map("proto3.Repeated", ("f_int32", new byte[] { 1, 2 })).Get("f_int32")!);
        Assert.Equal(
            [0, 2], (List<int>)Map(
                "proto3.Repeated", ("f_int32", Enumerable.Range(0, 3).Where(i => i != 1))).Get("f_int32")!);
        Assert.Equal(["a"], (List<string>)Map("proto3.Repeated", ("f_string", "a")).Get("f_string")!);
        Assert.Single(
            (List<DynamicMessage>)Map("proto3.Repeated", ("f_message", new Hashtable())).Get("f_message")!);
        Assert.False(Map("proto3.Repeated", ("f_int32", Array.Empty<object>())).Has("f_int32"));
    }

    [Fact]
    public static void Repeated_bytes_take_one_value_of_bytes_or_many()
    {
        Assert.Equal(
            [new byte[] { 1, 2 }],
            (List<byte[]>)Map("proto3.Repeated", ("f_bytes", new byte[] { 1, 2 })).Get("f_bytes")!);
        Assert.Equal(
            [new byte[] { 1 }], (List<byte[]>)Map("proto3.Repeated", ("f_bytes", "AQ==")).Get("f_bytes")!);
        Assert.Equal(
            [new byte[] { 1 }, [2]],
            (List<byte[]>)Map(
                "proto3.Repeated", ("f_bytes", new object[] { "AQ==", new byte[] { 2 } })).Get("f_bytes")!);
    }

    [Fact]
    public static void Elements_are_named_in_errors()
    {
        Assert.Equal("Repeated.f_int32[1]", PathOf("proto3.Repeated", ("f_int32", new object[] { 1, "x" })));
        Assert.Equal(
            "Repeated.f_int32[2]", PathOf("proto3.Repeated", ("f_int32", new object?[] { 1, 2, null })));
        Assert.Equal(
            "Repeated.f_message[0].children[1].text",
            PathOf(
                "proto3.Repeated",
                ("f_message", new[] { new { children = new object[] { new { }, new { text = true } } } })));
        Assert.Equal(
            "Maps.string_bool[\"k\"]", PathOf("proto3.Maps", ("string_bool", new Hashtable { ["k"] = "x" })));
        Assert.Equal(
            "Maps.int32_double[5]", PathOf("proto3.Maps", ("int32_double", new Hashtable { [5] = "x" })));
        Assert.Equal(
            "Maps.int32_double[\"x\"]", PathOf("proto3.Maps", ("int32_double", new Hashtable { ["x"] = 1 })));
        Assert.Equal(
            "Maps.string_message[\"k\"].text",
            PathOf("proto3.Maps", ("string_message", new Hashtable { ["k"] = new { text = true } })));
        Assert.Equal("Maps.string_bool[\"k\"]", PathOf(
            "proto3.Maps", ("string_bool", new Hashtable { ["k"] = null })));
        Assert.Equal("Maps.string_bool", PathOf("proto3.Maps", ("string_bool", 5)));
    }

    [Fact]
    public static void Maps_take_dictionaries_and_objects_with_keys_that_fit()
    {
        IDictionary ints = (IDictionary)Map(
            "proto3.Maps", ("int32_double", new Hashtable { ["5"] = 1, [6L] = "2" })).Get("int32_double")!;
        IDictionary bools = (IDictionary)Map(
            "proto3.Maps", ("bool_sfixed32", new { True = 1 })).Get("bool_sfixed32")!;
        IDictionary texts = (IDictionary)Map(
            "proto3.Maps", ("string_string", new Hashtable { [5] = "x" })).Get("string_string")!;

        Assert.Equal(1.0, ints[5]);
        Assert.Equal(2.0, ints[6]);
        Assert.Equal(1, bools[true]);
        Assert.Equal("x", texts["5"]);
    }

    [Fact]
    public static void Keys_that_become_the_same_are_refused()
    {
        RpcException e = Assert.Throws<RpcException>(
            () => Map("proto3.Maps", ("int32_double", new Hashtable { ["5"] = 1, [5] = 2 })));

        Assert.Contains("twice", e.Message);
    }

    [Fact]
    public static void Two_fields_of_a_oneof_are_refused_and_nulls_are_not()
    {
        RpcException e = Assert.Throws<RpcException>(
            () => Map("proto3.Choice", ("number", 1), ("word", "a")));

        Assert.Equal("OneofConflict", e.ErrorId);
        Assert.Equal("Choice.word", e.FieldPath);
        Assert.Contains("the oneof 'kind' takes one of its fields, and 'number' is set", e.Message);
        Assert.True(Map("proto3.Choice", ("number", 0), ("word", null), ("this_one", 1)).Has("number"));
    }

    [Fact]
    public static void Missing_required_fields_are_named()
    {
        RpcException e = Assert.Throws<RpcException>(() => Map(
            "proto2.Required",
            ("id", 1), ("name", "a"), ("place", new { x = 1 }), ("leaf", new { }), ("color", "RED"),
            ("more", new object[] { new { id = 1 } })));

        Assert.Equal("MissingRequiredField", e.ErrorId);
        Assert.Equal("Required.more[0].name", e.FieldPath);
        Assert.Contains("Required.more[0].place", e.Message);
    }

    [Fact]
    public static void Extensions_are_keys_in_brackets()
    {
        DynamicMessage message = Map(
            "proto2.Extendable", ("own", 1), ("[everything.proto2.x_string]", "a"),
            ("[everything.proto2.Extendable.nested_packed]", new[] { 1, 2 }),
            ("[everything.proto2.x_message]", new { text = "t" }));

        Assert.Equal("a", message.Get("[everything.proto2.x_string]"));
        Assert.Equal("t", ((DynamicMessage)message.Get("[everything.proto2.x_message]")!).Get("text"));
        Assert.Equal("UnknownField", Assert.Throws<RpcException>(
            () => Map("proto2.Extendable", ("[everything.proto2.nothing]", 1))).ErrorId);
    }

    [Fact]
    public static void Objects_within_themselves_are_refused()
    {
        Hashtable cyclic = [];
        cyclic["child"] = cyclic;

        RpcException e = Assert.Throws<RpcException>(() => Mapper.ToMessage(Type("proto2.Leaf"), cyclic));

        Assert.Equal("TooDeep", e.ErrorId);
        Assert.StartsWith("Leaf.child.child.", e.FieldPath);
        Assert.EndsWith(" more).child.child", e.FieldPath);
        Assert.InRange(e.FieldPath!.Length, 20, 100);
    }

    [Fact]
    public static void The_depth_is_that_of_the_bytes()
    {
        Hashtable deepest = [];
        for (int i = 0; i < 100; i++)
        {
            deepest = new Hashtable { ["child"] = deepest };
        }

        DynamicMessage message = Mapper.ToMessage(Type("proto2.Leaf"), deepest);

        Assert.Equal(message, DynamicMessage.Parse(message.Type, message.ToByteArray().AsSpan()));
        Assert.Equal("TooDeep", Assert.Throws<RpcException>(
            () => Mapper.ToMessage(Type("proto2.Leaf"), new { child = deepest })).ErrorId);
        MessageMapper shallow = new() { MaxDepth = 2 };
        Assert.Equal("TooDeep", Assert.Throws<RpcException>(
            () => shallow.ToMessage(
                Type("proto2.Leaf"), new { child = new { child = new { child = new { } } } })).ErrorId);
    }

    [Theory]
    [InlineData("proto2.Singular")]
    [InlineData("proto2.Repeated")]
    [InlineData("proto2.Maps")]
    [InlineData("proto2.Choice")]
    [InlineData("proto2.Required")]
    [InlineData("proto2.Extendable")]
    [InlineData("proto3.Singular")]
    [InlineData("proto3.Optional")]
    [InlineData("proto3.Repeated")]
    [InlineData("proto3.Maps")]
    [InlineData("proto3.Choice")]
    [InlineData("editions.Explicit")]
    [InlineData("editions.Implicit")]
    [InlineData("editions.Required")]
    [InlineData("editions.Choice")]
    public static void Random_messages_come_back_from_their_objects(string type)
    {
        RandomMessages random = new(99);
        for (int i = 0; i < 40; i++)
        {
            DynamicMessage message = random.Make(Type(type));

            DynamicMessage back = Mapper.ToMessage(message.Type, Mapper.ToObject(message));

            Assert.Equal(message, back);
        }
    }

    private static DynamicMessage Map(string type, params (string Key, object? Value)[] members) =>
        Mapper.ToMessage(Type(type), members.ToDictionary(member => member.Key, member => member.Value));

    private static string? PathOf(string type, params (string Key, object? Value)[] members)
    {
        RpcException e = Assert.Throws<RpcException>(() => Map(type, members));
        Assert.StartsWith(e.FieldPath + ": ", e.Message);
        return e.FieldPath;
    }

    private sealed record LeafRecord(string Text);

    private struct LeafStruct
    {
        public string Text { get; set; }
    }

    /// <summary>An object with members that formats itself, as those of a shell do.</summary>
    internal sealed class Formatted : IFormattable
    {
        public int Number => 5;

        public string ToString(string? format, IFormatProvider? formatProvider) => "formatted";
    }

    private sealed class Throwing
    {
        public string Text => throw new InvalidOperationException("not today");
    }
}

using System.Collections;
using System.Collections.Specialized;
using System.Dynamic;
using Google.Protobuf;
using ProtoRpc.Tests.Schema;
using static ProtoRpc.Tests.Messages.TestMessages;

namespace ProtoRpc.Tests.Messages;

public static class MessageMapperTests
{
    private static readonly MessageMapper Mapper = new();

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

        Assert.Contains("The property Text of the type ", e.Message);
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
            "is a message everything.proto2.Leaf, where everything.proto3.Leaf is needed", e.Message);
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
            [new byte[] { 1 }],
            (List<byte[]>)Map("proto3.Repeated", ("f_bytes", "base64:AQ==")).Get("f_bytes")!);
        Assert.Equal(
            [new byte[] { 1 }, [2]],
            (List<byte[]>)Map(
                "proto3.Repeated", ("f_bytes", new object[] { "base64:AQ==", new byte[] { 2 } }))
                .Get("f_bytes")!);
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
        Assert.Contains("only one field of the oneof 'kind' can be set, and 'number' is also set", e.Message);
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

    public static TheoryData<string, object> Others() => new()
    {
        { "timestamp", new { Year = 2024 } },
        { "timestamp", new Hashtable { ["DateTime"] = "2024-02-29" } },
        { "timestamp", new { Seconds = 5, Minutes = 3 } },
        { "duration", new { Hours = 3 } },
        { "int64_value", new { Number = 3 } },
        { "field_mask", new { Names = "a" } },
        { "any", new Hashtable { ["type"] = "everything.proto3.WellKnown" } },
    };

    [Theory]
    [MemberData(nameof(Others))]
    public static void An_object_of_another_kind_is_never_zero(string field, object value)
    {
        MessageMapper lenient = new() { AllowUnknownFields = true };

        RpcException refused = Assert.Throws<RpcException>(
            () => lenient.ToMessage(
                Type("proto3.WellKnown"), new Hashtable { [field] = value, ["unknown"] = 1 }));

        Assert.Equal(RpcErrorIds.UnknownField, refused.ErrorId);
        Assert.StartsWith($"WellKnown.{field}.", refused.FieldPath);
    }
}

using System.Collections;
using System.Collections.Specialized;
using ProtoRpc.Tests.Schema;
using static ProtoRpc.Tests.Messages.TestMessages;

namespace ProtoRpc.Tests.Messages;

public static class MessageToObjectTests
{
    private static readonly MessageMapper Mapper = new();

    [Fact]
    public static void Fields_stand_in_declared_order_and_absent_ones_are_null()
    {
        IDictionary shown = Show(Parse("proto2.Singular", "28 00"));

        Assert.Equal(Type("proto2.Singular").Fields.Select(f => f.Name), shown.Keys.Cast<string>());
        Assert.Equal(0, shown["f_int32"]);
        Assert.Null(shown["f_double"]);
        Assert.Null(shown["f_string"]);
        Assert.Null(shown["f_message"]);
        Assert.Equal(0, shown["F_INT32"]);
    }

    [Fact]
    public static void Fields_without_presence_have_their_default()
    {
        IDictionary shown = Show(new DynamicMessage(Type("proto3.Singular")));

        Assert.Equal(0, shown["f_int32"]);
        Assert.Equal("", shown["f_string"]);
        Assert.Equal(Array.Empty<byte>(), shown["f_bytes"]);
        Assert.Equal("COLOR_UNSPECIFIED", shown["f_enum"]);
        Assert.Null(shown["f_message"]);
    }

    [Fact]
    public static void Lists_are_typed_arrays_and_never_null()
    {
        IDictionary shown = Show(Parse("proto3.Repeated", "2A 02 01 02 72 02 01 63"));

        Assert.Equal(new[] { 1, 2 }, Assert.IsType<int[]>(shown["f_int32"]));
        Assert.Equal(new object[] { "RED", 99 }, Assert.IsType<object[]>(shown["f_enum"]));
        Assert.Empty(Assert.IsType<double[]>(shown["f_double"]));
        Assert.Empty(Assert.IsType<string[]>(shown["f_string"]));
        Assert.Empty(Assert.IsType<object[]>(shown["f_message"]));
        Assert.Empty(Assert.IsType<byte[][]>(shown["f_bytes"]));
    }

    [Fact]
    public static void Maps_are_ordered_dictionaries_with_typed_keys()
    {
        IDictionary shown = Show(Mapper.ToMessage(Type("proto3.Maps"), new Hashtable
        {
            ["string_enum"] = new Hashtable { ["k"] = "RED" },
            ["int64_float"] = new Hashtable { [5] = 1.5 },
            ["string_message"] = new Hashtable { ["m"] = new { text = "t" } },
        }));

        Assert.Equal("RED", Assert.IsType<OrderedDictionary<string, object?>>(shown["string_enum"])["k"]);
        Assert.Equal(1.5f, Assert.IsType<OrderedDictionary<long, object?>>(shown["int64_float"])[5]);
        Assert.Equal("t", ((IDictionary)((IDictionary)shown["string_message"]!)["m"]!)["text"]);
        Assert.Empty((IDictionary)shown["string_string"]!);
    }

    [Fact]
    public static void Every_member_of_a_oneof_is_there_and_one_is_not_null()
    {
        IDictionary shown = Show(Parse("proto3.Choice", "08 00"));

        Assert.Equal(0, shown["number"]);
        Assert.True(shown.Contains("word"));
        Assert.Null(shown["word"]);
        Assert.Null(shown["leaf"]);
    }

    [Fact]
    public static void Enums_are_names_or_unknown_numbers()
    {
        Assert.Equal("RED", Show(Parse("proto3.Singular", "70 01"))["f_enum"]);
        Assert.Equal(99, Show(Parse("proto3.Singular", "70 63"))["f_enum"]);
        Assert.Equal("BLUE", Show(Parse("proto2.Singular", "70 03"))["f_enum"]);
    }

    [Fact]
    public static void Extensions_that_are_set_come_after_the_fields()
    {
        IDictionary shown = Show(Parse("proto2.Extendable", "08 01 B207 01 62"));

        Assert.Equal(["own", "[everything.proto2.x_string]"], shown.Keys.Cast<string>());
        Assert.Equal("b", shown["[everything.proto2.x_string]"]);
    }

    [Fact]
    public static void Unknown_fields_come_back_with_the_object()
    {
        DynamicMessage message = Parse("proto2.Leaf", "0A 01 61 12 04 F8FF01 05 F8FF01 07");
        IDictionary shown = Show(message);

        shown["text"] = "changed";
        DynamicMessage back = Mapper.ToMessage(message.Type, shown);

        Assert.Equal(Compact("0A 07 6368616E676564 12 04 F8FF01 05 F8FF01 07"), Hex(back));
    }

    [Fact]
    public static void Unknown_fields_go_with_the_object_into_a_message_of_another_copy_of_the_schema()
    {
        DynamicMessage message = Parse("proto2.Leaf", "0A 01 61 12 04 F8FF01 05 F8FF01 07");
        RpcSchema copy = RpcSchema.FromDescriptorSet(message.Type.Schema.ToDescriptorSet());

        DynamicMessage back = Mapper.ToMessage(copy.GetMessage(message.Type.FullName), Show(message));

        Assert.NotSame(message.Type, back.Type);
        Assert.Equal(Compact("0A 01 61 12 04 F8FF01 05 F8FF01 07"), Hex(back));
    }

    [Fact]
    public static void Fields_that_a_newer_copy_of_the_schema_has_are_set_unless_the_object_sets_them()
    {
        RpcMessageInfo old = Version("");
        RpcMessageInfo now = Version(
            "repeated int32 list = 2; oneof choice { string a = 3; string b = 4; } string c = 5;");

        // The list in two parts, b, c and a number that neither has.
        DynamicMessage message =
            DynamicMessage.Parse(old, Bytes("0A 01 6B 10 05 22 01 62 10 06 2A 01 63 30 09"));
        IDictionary shown = Show(message);
        DynamicMessage back = Mapper.ToMessage(now, shown);

        Assert.Equal(new[] { 5, 6 }, back["list"]);
        Assert.Equal(("b", "c"), (back["b"], back["c"]));
        Assert.Equal(Bytes("30 09"), back.UnknownFieldBytes.ToArray());
        shown["a"] = "a";
        shown["c"] = "mine";
        back = Mapper.ToMessage(now, shown);
        Assert.Equal(("a", "", "mine"), (back["a"], back["b"] ?? "", back["c"]));

        static RpcMessageInfo Version(string more)
        {
            DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-");
            try
            {
                string path = Path.Combine(folder.FullName, "v.proto");
                File.WriteAllText(path, $"syntax = \"proto3\"; message M {{ string own = 1; {more} }}");
                return RpcSchema.Load([path]).GetMessage("M");
            }
            finally
            {
                folder.Delete(recursive: true);
            }
        }
    }

    [Fact]
    public static void A_field_that_is_set_again_wins_over_its_unknown_number()
    {
        DynamicMessage message = Parse("proto2.Singular", "70 63 F8FF01 07");
        IDictionary shown = Show(message);

        Assert.Null(shown["f_enum"]);
        Assert.Equal(Compact("70 63 F8FF01 07"), Hex(Mapper.ToMessage(message.Type, shown)));
        shown["f_enum"] = "RED";
        Assert.Equal(Compact("70 01 F8FF01 07"), Hex(Mapper.ToMessage(message.Type, shown)));
    }

    [Fact]
    public static void Another_model_makes_the_objects()
    {
        MessageMapper mapper = new(new PairModel());

        object shown = mapper.ToObject(Parse("proto2.Leaf", "0A 01 61"));

        Assert.Equal("everything.proto2.Leaf: text=a child= children=System.Object[]", shown);
    }

    [Theory]
    [InlineData("proto2")]
    [InlineData("proto3")]
    [InlineData("editions")]
    [InlineData("options")]
    public static void A_template_of_every_type_is_taken_as_it_is(string package)
    {
        foreach (RpcMessageInfo type in TestProtos.Everything.Messages
            .Where(m => m.FullName.StartsWith($"everything.{package}.", StringComparison.Ordinal)))
        {
            // A type that must contain itself has no message that ends.
            object template = Mapper.Template(type);
            DynamicMessage message = Mapper.ToMessage(type, template);
            Assert.Equal(message, DynamicMessage.Parse(type, message.ToByteArray().AsSpan()));
            Assert.Equal(type.Fields.Select(f => f.Name), ((IDictionary)template).Keys.Cast<string>());
        }
    }

    [Fact]
    public static void A_template_of_a_well_known_type_is_taken_as_it_is()
    {
        foreach (RpcMessageInfo type in TestProtos.Everything.Messages
            .Where(m => m.FullName.StartsWith("google.protobuf.", StringComparison.Ordinal)))
        {
            Assert.NotNull(Mapper.ToMessage(type, Mapper.Template(type)));
        }
    }

    [Fact]
    public static void A_template_shows_defaults_one_element_and_one_of_each_oneof()
    {
        OrderedDictionary defaults = (OrderedDictionary)Mapper.Template(Type("proto2.Defaults"));
        OrderedDictionary lists = (OrderedDictionary)Mapper.Template(Type("proto3.Repeated"));
        OrderedDictionary maps = (OrderedDictionary)Mapper.Template(Type("proto3.Maps"));
        OrderedDictionary choice = (OrderedDictionary)Mapper.Template(Type("proto3.Choice"));
        OrderedDictionary leaf = (OrderedDictionary)Mapper.Template(Type("proto3.Leaf"));

        Assert.Equal("BLUE", defaults["f_enum"]);
        Assert.Equal(true, defaults["f_bool"]);
        Assert.Equal(new object[] { 0 }, lists["f_int32"]);
        Assert.Equal(new object[] { "COLOR_UNSPECIFIED" }, lists["f_enum"]);
        Assert.All(maps.Values.Cast<IDictionary>(), map => Assert.Empty(map));
        Assert.Equal(0, choice["number"]);
        Assert.Null(choice["word"]);
        Assert.Equal(0, choice["this_one"]);
        Assert.Null(leaf["child"]);
        Assert.Empty((object[])leaf["children"]!);
    }

    [Fact]
    public static void A_template_that_is_sent_unchanged_has_no_entry_that_nobody_gave()
    {
        OrderedDictionary template = (OrderedDictionary)Mapper.Template(Type("proto3.WellKnown"));

        DynamicMessage message = Mapper.ToMessage(Type("proto3.WellKnown"), template);

        Assert.Empty((IDictionary)template["struct"]!);
        Assert.Empty((IEnumerable)template["list_value"]!);
        Assert.Equal(
            """{}""", ProtoRpc.MessageFormats.Json.ToText((DynamicMessage)message.Get("any")!));
        Assert.Equal(
            """{}""", ProtoRpc.MessageFormats.Json.ToText((DynamicMessage)message.Get("struct")!));
    }

    private static IDictionary Show(DynamicMessage message) => (IDictionary)Mapper.ToObject(message);

    /// <summary>Objects are one text.</summary>
    private sealed class PairModel : IObjectModel
    {
        public object? Unwrap(object? value) => value;

        public bool TryGetMembers(object value, out IEnumerable<KeyValuePair<string, object?>> members)
        {
            members = [];
            return false;
        }

        public object CreateObject(
            DynamicMessage source, IReadOnlyList<RpcFieldInfo> fields, IReadOnlyList<object?> values) =>
            $"{source.Type.FullName}: {string.Join(' ', fields.Select((f, i) => $"{f.Name}={values[i]}"))}";
    }
}

namespace ProtoRpc.Tests.Messages;

/// <summary>The string indexer of dynamic messages.</summary>
public static class DynamicMessageNamesTests
{
    private static readonly RpcSchema Schema = ReplyMismatchTests.Load("""
        syntax = "proto2";
        package named;
        enum Colour { RED = 0; GREEN = 5; }
        message Item { required string name = 1; optional int32 item_count = 2; optional Item inner = 3; }
        message Thing {
          optional int32 total_amount = 1;
          optional string text = 2 [default = "none"];
          optional Colour colour = 3;
          optional Item item = 4;
          repeated Item items = 5;
          repeated string tags = 6;
          map<string, int32> sizes = 7;
          optional bytes data = 8;
          oneof choice { int32 first = 9; string second = 10; }
          extensions 100 to 200;
        }
        extend Thing { optional int64 extra = 100; }
        """);

    private static DynamicMessage New() => new(Schema.GetMessage("named.Thing"));

    [Theory]
    [InlineData("total_amount")]
    [InlineData("totalAmount")]
    [InlineData("TOTAL_AMOUNT")]
    [InlineData("TotalAmount")]
    public static void A_field_has_its_name_its_json_name_and_either_in_any_case(string name)
    {
        DynamicMessage message = New();

        message[name] = "42";

        Assert.Equal(42, message[name]);
        Assert.Equal([0x08, 42], message.ToByteArray());
    }

    [Fact]
    public static void A_number_of_an_enum_has_its_name()
    {
        DynamicMessage open = new(ReplyMismatchTests.Load("""
            syntax = "proto3";
            package named;
            enum State { NEW = 0; OLD = 1; }
            message Row {
              State state = 1;
              repeated State all = 2;
              int32 count = 3;
              map<string, State> by = 4;
            }
            """).GetMessage("named.Row"));
        Assert.Equal("NEW", open.GetEnumName("state"));

        open["state"] = "old";
        Assert.Equal("OLD", open.GetEnumName("STATE"));
        open["state"] = 7;
        Assert.Equal("7", open.GetEnumName("state"));
        Assert.Equal("RED", New().GetEnumName("colour"));

        foreach ((string field, string told) in new[]
        {
            ("count", "int32"), ("all", "FindName"), ("by", "by"), ("stat", "state"),
        })
        {
            RpcException error = Assert.Throws<RpcException>(() => open.GetEnumName(field));
            Assert.Equal(RpcStatusCode.InvalidArgument, error.Code);
            Assert.Contains(told, error.Message, StringComparison.Ordinal);
        }
    }

    [Fact]
    public static void Values_are_converted_as_the_mapper_does()
    {
        DynamicMessage message = New();

        message["colour"] = "green";
        message["item"] = new { name = "a", itemCount = 3L, inner = new { name = "b" } };
        message["items"] =
            new object[] { new { name = "c" }, new Dictionary<string, object> { ["name"] = "d" } };
        message["tags"] = new[] { "x", "y" };
        message["sizes"] = new Dictionary<string, int> { ["s"] = 1 };
        message["data"] = "base64:AQI=";
        message["[named.extra]"] = 7;

        Assert.Equal(5, message["colour"]);
        DynamicMessage item = Assert.IsType<DynamicMessage>(message["item"]);
        Assert.Equal(("a", 3), (item["name"], item["item_count"]));
        Assert.Equal("b", Assert.IsType<DynamicMessage>(item["inner"])["name"]);
        Assert.Equal(
            ["c", "d"], ((List<DynamicMessage>)message["items"]!).Select(one => one["name"]));
        Assert.Equal(["x", "y"], (List<string>)message["tags"]!);
        Assert.Equal([1, 2], (byte[])message["data"]!);
        Assert.Equal(7L, message["[named.extra]"]);
        Assert.Equal(message, DynamicMessage.Parse(message.Type, message.ToByteArray()));
    }

    [Fact]
    public static void Values_of_the_fields_own_types_are_kept_as_they_are()
    {
        DynamicMessage message = New();
        DynamicMessage item = new(Schema.GetMessage("named.Item"));
        byte[] data = [1, 2];

        message["total_amount"] = -3;
        message["text"] = "grüße";
        message["colour"] = 5;
        message["item"] = item;
        message["data"] = data;
        message["[named.extra]"] = long.MinValue;
        List<DynamicMessage> items = [item];
        message["items"] = items;
        items.Add(null!);

        Assert.Equal(-3, message["total_amount"]);
        Assert.Equal("grüße", message["text"]);
        Assert.Equal(5, message["colour"]);
        Assert.Same(item, message["item"]);
        Assert.Same(data, message["data"]);
        Assert.Equal(long.MinValue, message["[named.extra]"]);
        Assert.Equal([item], (List<DynamicMessage>)message["items"]!);
    }

    [Fact]
    public static void An_empty_list_removes_the_field()
    {
        DynamicMessage message = New();
        message["items"] = new { name = "a" };

        message["items"] = new List<DynamicMessage>();

        Assert.Equal(0, message.CalculateSize());
    }

    [Fact]
    public static void Values_of_the_fields_own_types_are_checked()
    {
        DynamicMessage message = New();

        Refused("text", "\ud800");
        Refused("colour", 4);
        Refused("item", New());
        Refused("items", new List<DynamicMessage> { New() });
        Refused("items", new List<DynamicMessage> { null! });

        Assert.Equal(0, message.CalculateSize());

        void Refused(string name, object value)
        {
            RpcException e = Assert.Throws<RpcException>(() => message[name] = value);
            Assert.Contains($"Thing.{name}", e.Message);
        }
    }

    [Fact]
    public static void A_name_means_the_same_field_however_often_it_is_used()
    {
        DynamicMessage message = New();
        for (int i = 0; i < 3; i++)
        {
            foreach (string name in (string[])["total_amount", "totalAmount", new string("total_amount")])
            {
                message[name] = i;
                Assert.Equal(i, message["TOTAL_AMOUNT"]);
            }
        }

        Assert.Throws<RpcException>(() => message["total"]);
    }

    [Fact]
    public static void Absent_fields_read_as_their_defaults_and_null_removes_a_field()
    {
        DynamicMessage message = New();
        Assert.Equal(("none", 0, null), (message["text"], message["total_amount"], message["item"]));

        message["text"] = "there";
        message["items"] = new { name = "a" };
        message["text"] = null;
        message["items"] = null;

        Assert.Equal("none", message["text"]);
        Assert.Equal(0, message.CalculateSize());
    }

    [Fact]
    public static void A_field_of_a_oneof_takes_the_place_of_another()
    {
        DynamicMessage message = New();

        message["first"] = 1;
        message["second"] = "";

        Assert.Equal(0, message["first"]);
        Assert.Equal([0x52, 0], message.ToByteArray());
        message["second"] = null;
        Assert.Equal(0, message.CalculateSize());
    }

    [Fact]
    public static void Zero_and_empty_values_are_values()
    {
        DynamicMessage message = New();

        message["total_amount"] = 0;
        message["text"] = "";

        Assert.Equal([0x08, 0, 0x12, 0], message.ToByteArray());
    }

    [Fact]
    public static void A_name_that_is_none_is_told_with_the_nearest()
    {
        DynamicMessage message = New();

        RpcException read = Assert.Throws<RpcException>(() => message["totl_amount"]);
        RpcException set = Assert.Throws<RpcException>(() => message["[named.extr]"] = 1);
        RpcException far = Assert.Throws<RpcException>(() => message["zzzzzzzz"]);

        Assert.Equal("UnknownField", read.ErrorId);
        Assert.Contains("'totl_amount'. Did you mean 'total_amount'?", read.Message);
        Assert.Contains("'[named.extra]'", set.Message);
        Assert.Contains("Its fields are total_amount, text", far.Message);
    }

    [Fact]
    public static void A_value_that_does_not_fit_is_told_with_its_path_and_changes_nothing()
    {
        DynamicMessage message = New();
        message["item"] = new { name = "a" };
        byte[] before = message.ToByteArray();

        RpcException range = Assert.Throws<RpcException>(() => message["total_amount"] = 5_000_000_000);
        RpcException nested = Assert.Throws<RpcException>(
            () => message["item"] = new { name = "b", inner = new { item_count = "x" } });
        RpcException unknown = Assert.Throws<RpcException>(() => message["item"] = new { nam = "b" });

        Assert.Contains("total_amount", range.FieldPath);
        Assert.Contains("item.inner.item_count", nested.FieldPath);
        Assert.Contains("Did you mean 'name'?", unknown.Message);
        Assert.Equal(before, message.ToByteArray());
    }

    [Fact]
    public static void Messages_with_a_shape_of_their_own_are_set_field_by_field()
    {
        RpcSchema schema = RpcSchema.FromDescriptors(
            Google.Protobuf.WellKnownTypes.TimestampReflection.Descriptor,
            Google.Protobuf.WellKnownTypes.StructReflection.Descriptor);
        DynamicMessage time = new(schema.GetMessage("google.protobuf.Timestamp"));
        DynamicMessage many = new(schema.GetMessage("google.protobuf.Struct"));

        time["seconds"] = 5;
        many["fields"] = new Dictionary<string, object> { ["a"] = "x" };

        Assert.Equal([0x08, 5], time.ToByteArray());
        Assert.Equal("""{ "a": "x" }""", Google.Protobuf.WellKnownTypes.Struct.Parser.ParseFrom(
            many.ToByteArray()).ToString());
    }
}

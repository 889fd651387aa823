using System.Collections;
using static ProtoRpc.Tests.Messages.TestMessages;

namespace ProtoRpc.Tests.Messages;

public static class AnyMappingTests
{
    private const string LeafUrl = "type.googleapis.com/everything.proto3.Leaf";

    private static readonly RpcMessageInfo WellKnown = Type("proto3.WellKnown");
    private static readonly MessageMapper Mapper = new();

    [Fact]
    public static void Any_holds_a_message_by_its_type()
    {
        DynamicMessage message = Map(
            "any", new Hashtable { ["@type"] = "everything.proto3.Leaf", ["text"] = "a" });
        IDictionary shown = (IDictionary)((IDictionary)Mapper.ToObject(message))["any"]!;
        DynamicMessage any = (DynamicMessage)message.Get("any")!;

        Assert.Equal(LeafUrl, any.Get("type_url"));
        Assert.Equal(Bytes("0A 01 61"), any.Get("value"));
        Assert.Equal(["@type", "text", "child", "children"], shown.Keys.Cast<string>());
        Assert.Equal("a", shown["text"]);
        Assert.Equal(message, Map("any", shown));
    }

    [Fact]
    public static void Any_holds_a_well_known_type_under_value()
    {
        DynamicMessage message = Map(
            "any", new Hashtable { ["@type"] = "google.protobuf.Duration", ["value"] = "1.5s" });
        IDictionary shown = (IDictionary)((IDictionary)Mapper.ToObject(message))["any"]!;

        Assert.Equal(TimeSpan.FromSeconds(1.5), shown["value"]);
        Assert.Equal(message, Map("any", shown));
    }

    [Fact]
    public static void Any_holds_messages_as_they_are()
    {
        DynamicMessage leaf = Mapper.ToMessage(Type("proto3.Leaf"), new { text = "a" });

        Assert.Equal(Map("any", new Hashtable { ["@type"] = LeafUrl, ["text"] = "a" }), Map("any", leaf));
        Assert.Equal(
            "type.googleapis.com/google.protobuf.Duration",
            ((DynamicMessage)Map("any", new Google.Protobuf.WellKnownTypes.Duration()).Get("any")!).Get(
                "type_url"));
    }

    [Fact]
    public static void Any_of_an_unknown_type_is_bytes_both_ways()
    {
        Hashtable source = new() { ["@type"] = "example.com/not.Known", ["value"] = "base64:AQI=" };
        DynamicMessage message = Map("any", source);
        IDictionary shown = (IDictionary)((IDictionary)Mapper.ToObject(message))["any"]!;

        Assert.Equal("example.com/not.Known", shown["@type"]);
        Assert.Equal(new byte[] { 1, 2 }, shown["value"]);
        Assert.Equal(message, Map("any", shown));
        RpcException e = Assert.Throws<RpcException>(
            () => Map("any", new Hashtable { ["@type"] = "not.Known", ["text"] = "a" }));
        Assert.Contains("the schema has no message 'not.Known'", e.Message);
    }

    [Fact]
    public static void Any_with_bytes_of_another_type_is_shown_as_bytes()
    {
        DynamicMessage message = Map(
            "any", new Hashtable { ["type_url"] = LeafUrl, ["value"] = new byte[] { 0x0A, 5 } });
        IDictionary shown = (IDictionary)((IDictionary)Mapper.ToObject(message))["any"]!;

        Assert.Equal(new byte[] { 0x0A, 5 }, shown["value"]);
        Assert.Equal(message, Map("any", shown));
    }

    [Fact]
    public static void Errors_in_an_Any_have_their_path()
    {
        Assert.Equal("WellKnown.anys[1].text", Assert.Throws<RpcException>(() => Map("anys", new object[]
        {
            new Hashtable(),
            new Hashtable { ["@type"] = LeafUrl, ["text"] = true },
        })).FieldPath);
        Assert.Contains("needs the key 'value'", Assert.Throws<RpcException>(() => Map(
            "any", new Hashtable { ["@type"] = "google.protobuf.Duration", ["seconds"] = 1 })).Message);
        Assert.Throws<RpcException>(() => Map("any", "text"));
        Assert.Throws<RpcException>(() => Map("any", new Hashtable { ["@type"] = 5 }));
    }

    [Fact]
    public static void Anys_within_Anys_are_bounded()
    {
        byte[] url = "x/google.protobuf.Any"u8.ToArray();
        byte[] any = [];
        for (int i = 0; i < 2000; i++)
        {
            DynamicMessage outer = new(Type("proto3.WellKnown").FindField("any")!.MessageType!);
            outer.Set("type_url", System.Text.Encoding.UTF8.GetString(url));
            outer.Set("value", any);
            any = outer.ToByteArray();
        }
        DynamicMessage bomb = DynamicMessage.Parse(WellKnown.FindField("any")!.MessageType!, any.AsSpan());

        Assert.Equal("TooDeep", Assert.Throws<RpcException>(() => Mapper.ToObject(bomb)).ErrorId);
    }

    private static DynamicMessage Map(string field, object? value) =>
        Mapper.ToMessage(WellKnown, new Dictionary<string, object?> { [field] = value });
}

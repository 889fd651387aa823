using System.Collections;
using System.Collections.Specialized;
using static ProtoRpc.Tests.Messages.TestMessages;

namespace ProtoRpc.Tests.Messages;

/// <summary>Nanoseconds of times that are passed on as values of .NET, which count in 100 ns.</summary>
public static class ExactTimeTests
{
    private static readonly MessageMapper Mapper = new();
    private static readonly RpcMessageInfo WellKnown = Type("proto3.WellKnown");

    [Theory]
    [InlineData("""{"timestamp":"2024-02-29T12:30:00.123456789Z"}""")]
    [InlineData("""{"timestamp":"0001-01-01T00:00:00.000000001Z"}""")]
    [InlineData("""{"timestamp":"9999-12-31T23:59:59.999999999Z"}""")]
    [InlineData("""{"timestamp":"1969-12-31T23:59:59.999999950Z"}""")]
    [InlineData("""{"duration":"1.000000001s"}""")]
    [InlineData("""{"duration":"-0.000000050s"}""")]
    [InlineData("""{"duration":"-1.999999999s"}""")]
    [InlineData("""{"duration":"315576000000s"}""")]
    [InlineData("""{"durations":["0.000000001s","1s","-0.000000101s"]}""")]
    [InlineData("""{"timestamps":["2024-02-29T12:30:00.000000123Z","1970-01-01T00:00:00Z"]}""")]
    [InlineData("""{"timestampByName":{"a":"2024-02-29T12:30:00.000000123Z"}}""")]
    [InlineData(
        """{"any":{"@type":"type.googleapis.com/everything.proto3.WellKnown","duration":"0.000000001s"}}""")]
    [InlineData(
        """{"any":{"@type":"type.googleapis.com/google.protobuf.Duration","value":"0.000000001s"}}""")]
    public static void Stay_as_long_as_the_value_is_not_changed(string json)
    {
        DynamicMessage message = MessageFormats.Json.Read(WellKnown, json);

        object shown = Mapper.ToObject(message);
        Assert.Equal(json, Json(Mapper.ToMessage(WellKnown, shown)));

        // A script takes values out and gives them in another object.
        Hashtable other = [];
        foreach (DictionaryEntry entry in (OrderedDictionary)shown)
        {
            other[entry.Key] = entry.Value;
        }

        Assert.Equal(json, Json(Mapper.ToMessage(WellKnown, other)));
    }

    [Fact]
    public static void Go_with_a_changed_value()
    {
        DynamicMessage message = MessageFormats.Json.Read(
            WellKnown, """{"timestamp":"2024-02-29T12:30:00.123456789Z","duration":"1.000000001s"}""");
        OrderedDictionary shown = (OrderedDictionary)Mapper.ToObject(message);

        shown["timestamp"] = ((DateTimeOffset)shown["timestamp"]!).AddSeconds(1);
        shown["duration"] = ((TimeSpan)shown["duration"]!) + TimeSpan.FromSeconds(1);

        Assert.Equal(
            """{"duration":"2s","timestamp":"2024-02-29T12:30:01.123456700Z"}""",
            Json(Mapper.ToMessage(WellKnown, shown)));
    }

    [Fact]
    public static void Are_in_records_and_texts()
    {
        DynamicMessage message = MessageFormats.Json.Read(
            WellKnown,
            """
            {"timestamp":"2024-02-29T12:30:00.123456789Z","duration":"-1.000000001s",
             "timestamps":["1970-01-01T00:00:00.000000001Z"]}
            """);

        Dictionary<string, object?> row = new(Mapper.ToRecord(message));
        Assert.Equal("2024-02-29T12:30:00.123456789Z", row["timestamp"]);
        Assert.Equal("-1.000000001s", row["duration"]);
        Assert.Equal("""["1970-01-01T00:00:00.000000001Z"]""", row["timestamps"]);
        Assert.Equal(Json(message), Json(Mapper.ToMessage(WellKnown, new OrderedDictionary
        {
            ["timestamp"] = row["timestamp"],
            ["duration"] = row["duration"],
            ["timestamps"] = row["timestamps"],
        })));
    }

    private static string Json(DynamicMessage message) => MessageFormats.Json.ToText(message);
}

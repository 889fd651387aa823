using System.Collections;
using System.Text.Json;
using ProtoRpc.Rendering;
using static ProtoRpc.Tests.Rendering.Parcels;

namespace ProtoRpc.Tests.Rendering;

public static class ViewJsonTests
{
    private static readonly Hashtable Values = new()
    {
        ["id"] = "P\"1\u202e",
        ["weight"] = double.NaN,
        ["state"] = "SENT",
        ["sent"] = new DateTimeOffset(2026, 11, 22, 12, 0, 0, TimeSpan.Zero),
        ["took"] = "1.5s",
        ["seal"] = new byte[] { 1, 2, 3 },
        ["to"] = new Hashtable { ["city"] = "Rom" },
        ["tags"] = new[] { "a", "b" },
        ["cents"] = long.MinValue,
    };

    [Fact]
    public static void A_message_is_its_JSON_in_one_line()
    {
        Assert.Equal(
            """{"id":"P\"1\u202E","weight":"NaN","state":"SENT","express":false,"""
            + "\"sent\":\"2026-11-22T12:00:00Z\",\"took\":\"1.500s\",\"seal\":\"AQID\","
            + "\"to\":{\"street\":\"\",\"city\":\"Rom\"},\"tags\":[\"a\",\"b\"],"
            + "\"cents\":-9223372036854775808}",
            ViewJson.Format(DeferringModel.Instance, Make("Parcel", Values)));
    }

    [Fact]
    public static void It_is_read_where_text_is_taken_for_a_message()
    {
        Hashtable values = new(Values) { ["weight"] = 2.5, ["counts"] = new Hashtable { ["k"] = 1 } };
        string text = ViewJson.Format(DeferringModel.Instance, Make("Parcel", values));
        MessageMapper mapper = new();

        DynamicMessage read = mapper.ToMessage(Type("Parcel"), new Hashtable { ["inside"] = text });

        Assert.Equal(
            mapper.ToMessage(Type("Parcel"), new Hashtable { ["inside"] = values }).ToByteArray(),
            read.ToByteArray());
    }

    [Fact]
    public static void Halves_of_surrogates_are_kept()
    {
        System.Collections.Specialized.OrderedDictionary message = new() { ["x"] = "a\ud800" };

        Assert.Equal("""{"x":"a\uD800"}""", ViewJson.Format(DeferringModel.Instance, message));
    }

    [Fact]
    public static void It_is_bounded_and_says_so()
    {
        Hashtable values = new() { ["tags"] = Enumerable.Repeat(new string('x', 1000), 5000).ToArray() };

        string text = ViewJson.Format(DeferringModel.Instance, Make("Parcel", values));

        Assert.InRange(text.Length, ViewJson.MaxLength, ViewJson.MaxLength + 2000);
        Assert.EndsWith("…", text, StringComparison.Ordinal);
        Assert.ThrowsAny<JsonException>(() => JsonDocument.Parse(text));
    }
}

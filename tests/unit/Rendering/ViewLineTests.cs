using System.Collections;
using ProtoRpc.Rendering;
using static ProtoRpc.Tests.Rendering.Parcels;

namespace ProtoRpc.Tests.Rendering;

public static class ViewLineTests
{
    // A field that has parcels.
    private static readonly RpcFieldInfo Inside = Field("Parcel", "inside");

    [Fact]
    public static void A_message_is_one_line_of_what_is_set()
    {
        string line = Line(Make("Parcel", new()
        {
            ["id"] = "P\"1",
            ["state"] = "SENT",
            ["weight"] = 1.5,
            ["to"] = new Hashtable { ["city"] = "Rom", ["geo"] = new Hashtable { ["lat"] = 1 } },
            ["tags"] = new[] { "a", "b" },
            ["counts"] = new Hashtable { ["x"] = 1 },
            ["seal"] = new byte[] { 1, 255 },
            ["took"] = "90s",
        }));

        Assert.Equal(
            "{ id: \"P\\\"1\", weight: 1.5, state: SENT, took: 00:01:30, seal: <2 bytes: 01 FF>, "
            + "to { city: \"Rom\", geo { lat: 1 } }, tags: [\"a\", \"b\"], counts: {\"x\": 1} }",
            line);
    }

    [Fact]
    public static void A_field_with_presence_is_shown_where_it_has_its_default()
    {
        Assert.Equal("{ note: \"\" }", Line(Make("Parcel", new() { ["note"] = "", ["id"] = "" })));
        Assert.Equal("{ plane: \"\" }", Line(Make("Parcel", new() { ["plane"] = "" })));
        Assert.Equal("{ to {} }", Line(Make("Parcel", new() { ["to"] = new Hashtable() })));
        Assert.Equal("{}", Line(Make("Nothing", [])));
    }

    [Fact]
    public static void A_value_of_any_shape_is_shown()
    {
        Hashtable inner = new() { ["b"] = 2.5 };
        Hashtable extra = new() { ["a"] = new object?[] { 1, null, "x", true, inner } };

        Assert.Equal(
            "{ extra: {\"a\": [1, null, \"x\", true, {\"b\": 2.5}]} }",
            Line(Make("Parcel", new() { ["extra"] = extra })));
    }

    [Fact]
    public static void Times_are_local()
    {
        DateTimeOffset time = new(2026, 11, 22, 12, 0, 0, 250, TimeSpan.Zero);

        Assert.Equal(
            $"{{ sent: {time.ToLocalTime():yyyy-MM-dd HH:mm:ss}.25 }}",
            Line(Make("Parcel", new() { ["sent"] = time })));
    }

    [Fact]
    public static void The_ends_of_time_are_shown()
    {
        foreach (DateTimeOffset time in new[] { DateTimeOffset.MinValue, DateTimeOffset.MaxValue })
        {
            object message = Make("Parcel", new() { ["sent"] = time });
            Assert.StartsWith("{ sent: ", Line(message), StringComparison.Ordinal);
        }
    }

    [Theory]
    [InlineData(0, "0 bytes")]
    [InlineData(1, "1 byte: AB")]
    [InlineData(8, "8 bytes: AB AB AB AB AB AB AB AB")]
    [InlineData(9, "9 bytes: AB AB AB AB AB AB AB AB …")]
    public static void Bytes_are_their_number_and_the_first_ones(int count, string expected)
    {
        byte[] bytes = Enumerable.Repeat((byte)0xAB, count).ToArray();

        Assert.Equal(expected, Line(bytes));
    }

    [Theory]
    [InlineData("foo", "3 bytes: \"foo\"")]
    [InlineData("a\tb\n", "4 bytes: \"a\\tb\\n\"")]
    [InlineData("a\u001B[31m", "6 bytes: 61 1B 5B 33 31 6D")]
    [InlineData("a\u007F", "2 bytes: 61 7F")]
    [InlineData("\u00E4\u20AC", "5 bytes: \"\u00E4\u20AC\"")]
    [InlineData("a\u202Eb", "5 bytes: 61 E2 80 AE 62")]
    [InlineData("a\u0085", "3 bytes: 61 C2 85")]
    [InlineData(
        "0123456789012345678901234567890123456789", "40 bytes: \"0123456789012345678901234567890123456789\"")]
    [InlineData(
        "012345678901234567890123456789012345678\u20AC",
        "42 bytes: \"012345678901234567890123456789012345678\" …")]
    public static void Bytes_that_are_text_are_shown_as_text(string text, string expected) =>
        Assert.Equal(expected, Line(System.Text.Encoding.UTF8.GetBytes(text)));

    [Fact]
    public static void Bytes_that_end_in_part_of_a_character_are_numbers() =>
        Assert.Equal("3 bytes: 61 E2 82", Line(new byte[] { 0x61, 0xE2, 0x82 }));

    [Fact]
    public static void A_line_is_cut_where_it_is_full()
    {
        object message = Make("Parcel", new() { ["tags"] = Enumerable.Repeat("abc", 100_000).ToArray() });

        string line = ViewLine.Format(DeferringModel.Instance, message, Inside, 20, out bool fits);

        Assert.Equal("{ tags: [\"abc\", \"ab…", line);
        Assert.False(fits);
    }

    [Fact]
    public static void Nothing_is_made_of_what_is_not_shown()
    {
        object[] addresses = Enumerable.Repeat<object>(new Hashtable { ["city"] = "Rom" }, 10_000).ToArray();
        DeferringModel model = new();
        object message = Make("Parcel", new() { ["via"] = addresses }, model);

        ViewLine.Format(model, message, null, 60, out _);

        Assert.InRange(model.Made, 2, 200);
    }

    [Fact]
    public static void What_is_too_deep_is_left_out()
    {
        Hashtable inner = new() { ["id"] = "x" };
        for (int i = 0; i < 60; i++)
        {
            inner = new() { ["inside"] = inner };
        }

        string line = ViewLine.Format(DeferringModel.Instance, Make("Parcel", inner), Inside, 4000, out _);

        Assert.EndsWith("inside { … } } } } } } } } } }", line, StringComparison.Ordinal);
    }

    [Fact]
    public static void An_object_that_holds_itself_ends()
    {
        System.Collections.Specialized.OrderedDictionary loop = [];
        loop["self"] = loop;
        loop["list"] = new object[] { loop, loop };

        Assert.InRange(ViewLine.Format(DeferringModel.Instance, loop, null, 200, out _).Length, 1, 200);
        Assert.InRange(ViewJson.Format(DeferringModel.Instance, loop).Length, 1, ViewJson.MaxLength + 100);
    }

    private static string Line(object value) =>
        ViewLine.Format(DeferringModel.Instance, value, Inside, 4000, out _);
}

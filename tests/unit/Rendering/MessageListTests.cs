using System.Collections;
using ProtoRpc.Rendering;
using static ProtoRpc.Tests.Rendering.Parcels;

namespace ProtoRpc.Tests.Rendering;

public static class MessageListTests
{
    private static readonly ViewStyle Style = new("<h>", "<l>", "<q>", "<k>", "<c>", "<r>");

    private static readonly Hashtable Sample = new()
    {
        ["id"] = "P-1",
        ["weight"] = 1.5,
        ["state"] = "SENT",
        ["took"] = "1.5s",
        ["seal"] = new byte[] { 1, 2, 3 },
        ["to"] = new Hashtable
        {
            ["street"] = "Main street 1 in a very long house name that goes on",
            ["city"] = "Berlin",
            ["geo"] = new Hashtable { ["lat"] = 52.5, ["lon"] = 13.4 },
        },
        ["tags"] = new[] { "a", "b" },
        ["counts"] = new Hashtable { ["x"] = 1 },
        ["via"] = new object[]
        {
            new Hashtable { ["city"] = "Rom" },
            new Hashtable
            {
                ["street"] = "Some very long street name to break lines of eighty columns",
                ["city"] = "Wien",
            },
        },
    };

    [Fact]
    public static void A_message_is_a_list_of_its_fields_in_80_columns() => Assert.Equal(
        """
        id      : P-1
        weight  : 1.5
        state   : SENT
        express : false
        took    : 00:00:01.5
        seal    : 3 bytes: 01 02 03
        to      : {
                    street: "Main street 1 in a very long house name that goes on"
                    city: "Berlin"
                    geo { lat: 52.5, lon: 13.4 }
                  }
        tags    : ["a", "b"]
        counts  : {"x": 1}
        via     : { city: "Rom" }
                  {
                    street: "Some very long street name to break lines of eighty column…
                    city: "Wien"
                  }
        cents   : 0
        # not set: sent, note, extra, plane, ship, inside
        """.ReplaceLineEndings("\n"),
        Text(Sample, 80));

    [Fact]
    public static void A_message_is_a_list_of_its_fields_in_200_columns() => Assert.Equal(
        """
        id      : P-1
        weight  : 1.5
        state   : SENT
        express : false
        took    : 00:00:01.5
        seal    : 3 bytes: 01 02 03
        to      : LONG{ lat: 52.5, lon: 13.4 } }
        tags    : ["a", "b"]
        counts  : {"x": 1}
        via     : [{ city: "Rom" }, WIDE, city: "Wien" }]
        cents   : 0
        # not set: sent, note, extra, plane, ship, inside
        """.ReplaceLineEndings("\n")
            .Replace(
                "LONG",
                "{ street: \"Main street 1 in a very long house name that goes on\", city: \"Berlin\", geo ",
                StringComparison.Ordinal)
            .Replace(
                "WIDE",
                "{ street: \"Some very long street name to break lines of eighty columns\"",
                StringComparison.Ordinal),
        Text(Sample, 200));

    [Fact]
    public static void A_long_list_of_flat_messages_is_a_table_of_the_first_ones()
    {
        IReadOnlyList<string> lines = Lines("Round", Asks(25, "an id"), 80, ViewStyle.Plain);

        Assert.Equal("asks : id       count", lines[0]);
        Assert.Equal("       --       -----", lines[1]);
        Assert.Equal("       an id        1", lines[2]);
        Assert.Equal(23, lines.Count);
        Assert.Equal("       # … 5 more", lines[22]);
    }

    [Fact]
    public static void A_table_in_a_list_has_no_column_without_values()
    {
        IReadOnlyList<string> lines = Lines("Round", Asks(12, ""), 80, ViewStyle.Plain);

        Assert.Equal("asks : count", lines[0]);
    }

    [Fact]
    public static void A_list_of_long_messages_ends_after_the_first_ones()
    {
        Hashtable stop = new() { ["street"] = new string('s', 60), ["city"] = new string('c', 60) };
        Hashtable parcel = new() { ["via"] = Enumerable.Repeat<object>(stop, 50).ToArray() };

        IReadOnlyList<string> lines = Lines("Parcel", parcel, 80, ViewStyle.Plain);

        Assert.InRange(lines.Count, 30, 50);
        Assert.Contains(lines, line => line.EndsWith("# … 42 more", StringComparison.Ordinal));
    }

    [Fact]
    public static void Labels_and_notes_have_colours()
    {
        Assert.Equal(
            "<l>street : <r>x\n<l>city   : <r>\n<q># not set: geo<r>",
            string.Join('\n', Lines("Address", new() { ["street"] = "x" }, 80, Style)));
        Assert.Equal("<q># an empty parcels.Nothing<r>", Assert.Single(Lines("Nothing", [], 80, Style)));
    }

    [Fact]
    public static void Text_is_shown_as_it_is_in_lines()
    {
        string text = "first\r\nsecond\twith a tab\n\n" + string.Join(' ', Enumerable.Repeat("word", 8));

        Assert.Equal(
            [
                "note    : first",
                "          second    with a tab",
                "          ",
                "          word word word word",
                "          word word word word",
            ],
            Lines("Parcel", new() { ["note"] = text }, 32, ViewStyle.Plain).Skip(5).Take(5)
                .Select(line => line.Replace("note ", "note    ", StringComparison.Ordinal)
                    .Replace("note       ", "note    ", StringComparison.Ordinal)));
    }

    [Theory]
    [InlineData("a\tb", "street : a    b")]
    [InlineData("\u001b[31mred\u001b[0m", "street : \\u001B[31mred\\u001B[0m")]
    [InlineData("\u00e9\u200dx", "street : \u00e9\\u200Dx")]
    public static void Text_with_tabs_and_escapes_is_shown_to_its_end(string text, string shown) =>
        Assert.Equal(shown, Lines("Address", new() { ["street"] = text }, 80, ViewStyle.Plain)[0]);

    [Fact]
    public static void A_hostile_message_controls_nothing_and_is_bounded()
    {
        string evil = "\u001b]0;title\u0007\u202e\u200b";
        Hashtable values = new()
        {
            ["id"] = evil + new string('x', 5_000_000),
            ["note"] = string.Concat(Enumerable.Repeat(evil + "\n", 100_000)),
            ["tags"] = Enumerable.Repeat(evil + new string('y', 300), 10_000).ToArray(),
            ["via"] = Enumerable
                .Repeat<object>(new Hashtable { ["street"] = evil, ["city"] = evil }, 10_000).ToArray(),
            ["counts"] = new Hashtable(
                Enumerable.Range(0, 10_000).ToDictionary(i => (object)(evil + i), i => (object)i)),
            ["seal"] = new byte[5_000_000],
        };

        IReadOnlyList<string> lines = Lines("Parcel", values, 80, ViewStyle.Plain);

        Assert.InRange(lines.Count, 30, 400);
        Assert.All(lines, line => Assert.True(ViewText.Cells(line) <= 80, line));
        Assert.All(
            lines, line => Assert.DoesNotContain(line, c => char.IsControl(c) || c is '\u202e' or '\u200b'));
        Assert.Contains(lines, line => line.EndsWith("# … 9980 more", StringComparison.Ordinal));
        Assert.Contains(lines, line => line.EndsWith("characters in all", StringComparison.Ordinal));
    }

    [Fact]
    public static void What_is_nested_deep_or_wide_is_bounded()
    {
        Hashtable inner = new() { ["tags"] = Enumerable.Repeat(new string('x', 100), 100).ToArray() };
        for (int i = 0; i < 60; i++)
        {
            inner = new() { ["id"] = new string('i', 100), ["inside"] = inner, ["tags"] = inner["tags"] };
        }

        Assert.InRange(Lines("Parcel", inner, 80, ViewStyle.Plain).Count, 10, 450);
    }

    [Fact]
    public static void Long_keys_of_a_map_are_told_apart()
    {
        Hashtable counts = new()
        {
            ["containerd.io/gc.ref.content.0"] = 1,
            ["containerd.io/gc.ref.content.1"] = 2,
            [new string('k', 100) + "\"a"] = 3,
            [new string('k', 100_000) + "b"] = 4,
        };

        string[] lines = Text(new() { ["id"] = "P", ["counts"] = counts }, 80).Split('\n');

        Assert.Contains(lines, line => line.EndsWith(
            "\"containerd.io/gc.ref.content.0\": 1", StringComparison.Ordinal));
        Assert.Contains(lines, line => line.EndsWith(
            "\"containerd.io/gc.ref.content.1\": 2", StringComparison.Ordinal));
        Assert.Contains(lines, line => line.EndsWith("kk\\\"a\": 3", StringComparison.Ordinal));
        Assert.Contains(lines, line => line.EndsWith("kkb\": 4", StringComparison.Ordinal));
        Assert.All(lines, line => Assert.True(line.Length <= 80, line));
    }

    [Fact]
    public static void An_Any_of_a_type_that_the_schema_does_not_have_has_a_note()
    {
        System.Collections.Specialized.OrderedDictionary any = new()
        {
            ["@type"] = "type.googleapis.com/none.Such",
            ["value"] = new byte[] { 10, 1, 0 },
        };
        System.Collections.Specialized.OrderedDictionary parcel = new() { ["id"] = "P", ["extra"] = any };

        Assert.Contains("(the schema has no such type)", TextOf(parcel, 120), StringComparison.Ordinal);
        Assert.Matches(@"value: 3 bytes: 0A 01 00\n +# the schema has no such type\n", TextOf(parcel, 60));

        static string TextOf(object message, int width) => string.Join('\n', MessageList.Format(
            DeferringModel.Instance, message, Type("Parcel"), width, ViewStyle.Plain));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(-1)]
    [InlineData(1)]
    [InlineData(10)]
    [InlineData(int.MaxValue)]
    public static void Any_width_will_do(int width) =>
        Assert.StartsWith("id ", Text(Sample, width), StringComparison.Ordinal);

    [Fact]
    public static void A_message_without_a_known_type_is_shown_by_its_members()
    {
        System.Collections.Specialized.OrderedDictionary message = new()
        {
            ["a"] = 1,
            ["guid"] = Guid.Empty,
            ["time"] = new DateTime(2026, 11, 22, 12, 0, 0),
        };

        Assert.Equal(
            ["a    : 1", "guid : 00000000-0000-0000-0000-000000000000", "time : 2026-11-22 12:00:00"],
            MessageList.Format(DeferringModel.Instance, message, null, 80, ViewStyle.Plain));
    }

    private static Hashtable Asks(int count, string id) => new()
    {
        ["asks"] = Enumerable.Range(1, count)
            .Select(i => (object)new Hashtable { ["id"] = id, ["count"] = i }).ToArray(),
    };

    private static string Text(Hashtable values, int width) =>
        string.Join('\n', Lines("Parcel", values, width, ViewStyle.Plain));

    private static IReadOnlyList<string> Lines(string type, Hashtable values, int width, ViewStyle style) =>
        MessageList.Format(DeferringModel.Instance, Make(type, values), Type(type), width, style);
}

using System.Collections;
using System.Collections.Specialized;
using ProtoRpc.Rendering;
using static ProtoRpc.Tests.Rendering.Parcels;

namespace ProtoRpc.Tests.Rendering;

public static class MessageTableTests
{
    [Fact]
    public static void Messages_are_rows_with_scalar_fields_first() => Assert.Equal(
        """
        id       number ok    state     at                  to                 sizes
        --       ------ --    -----     --                  --                 -----
        R-1        1000 true  SENT                          { street: "Street… [1]
        R-2        2000 false DELIVERED                     { city: "Berlin" } [1, 2]
        a very … 123456 false UNKNOWN                                          [1, 2, …
        """.ReplaceLineEndings("\n"),
        Table(
            79,
            Line("R-1", 1000, true, 1, "Street 1 and some more", "Berlin", [1]),
            Line("R-2", 2000, false, 2, null, "Berlin", [1, 2]),
            Line("a very long name", 123456, false, 0, null, null, [1, 2, 3, 4])));

    [Fact]
    public static void Wide_windows_have_room_for_what_is_nested()
    {
        string[] lines = Table(199, Line("R-1", 1000, true, 1, "Street 1", "Berlin", [1])).Split('\n');

        Assert.EndsWith("at                  to".PadRight(78) + "sizes", lines[0], StringComparison.Ordinal);
        Assert.EndsWith(
            "SENT                          { street: \"Street 1\", city: \"Berlin\" }".PadRight(88) + "[1]",
            lines[2], StringComparison.Ordinal);
    }

    [Fact]
    public static void A_number_is_never_cut()
    {
        string[] rows = Table(
            60,
            Line("R", 1, true, 1, "s", "c", []),
            Line("R", int.MinValue, true, 1, "s", "c", [])).Split('\n');

        Assert.Contains("-2147483648", rows[3], StringComparison.Ordinal);
    }

    [Fact]
    public static void Only_flat_messages_that_fit_are_a_table()
    {
        Assert.True(MessageTable.Fits(Type("Ask"), 80));
        Assert.True(MessageTable.Fits(Type("Ask"), 18));
        Assert.False(MessageTable.Fits(Type("Ask"), 17));
        Assert.False(MessageTable.Fits(Type("Line"), 80));
        Assert.False(MessageTable.Fits(Type("Address"), 200));
        Assert.False(MessageTable.Fits(Type("Round"), 200));
        Assert.False(MessageTable.Fits(Type("Nothing"), 200));
    }

    [Fact]
    public static void A_column_whose_first_value_is_empty_takes_no_room_from_others()
    {
        string[] lines = Table(
            79,
            Line("", 1000, true, 1, "Street 1 and some more", "Berlin", []),
            Line("an id", 1000, true, 1, "Street 1", "Berlin", [])).Split('\n');

        Assert.StartsWith("id       number ok", lines[0], StringComparison.Ordinal);
        Assert.EndsWith(" sizes", lines[0], StringComparison.Ordinal);
        Assert.StartsWith("           1000 true", lines[2], StringComparison.Ordinal);
        Assert.StartsWith("an id      1000 true", lines[3], StringComparison.Ordinal);
    }

    [Fact]
    public static void Rows_fit_into_the_line_and_control_nothing()
    {
        string evil = "\u001b[2J\u202e\u200b\r\n日本語" + new string('x', 1_000_000);
        object row = Line(evil, int.MaxValue, true, 1, evil, evil, Enumerable.Range(0, 100_000).ToArray());

        foreach (int width in new[] { 60, 80, 120, 200 })
        {
            string[] lines = Table(width, row, row).Split('\n');

            Assert.Equal(4, lines.Length);
            Assert.All(lines, line => Assert.InRange(ViewText.Cells(line), 1, width));
            Assert.All(
                lines,
                line => Assert.DoesNotContain(line, c => char.IsControl(c) || c is '\u202e' or '\u200b'));
        }
    }

    [Fact]
    public static void A_member_of_a_script_is_a_column_where_there_is_room()
    {
        OrderedDictionary row = (OrderedDictionary)Line("R", 1, true, 1, "s", "c", []);
        row["added"] = "by a script";

        Assert.Contains("added", Table(120, row), StringComparison.Ordinal);
        Assert.DoesNotContain("added", Table(70, row), StringComparison.Ordinal);
    }

    [Fact]
    public static void A_row_that_lacks_a_member_has_an_empty_cell()
    {
        OrderedDictionary row = (OrderedDictionary)Line("R", 1, true, 1, "s", "c", []);
        row.Remove("number");
        row.Remove("to");

        Assert.Contains("R", Table(80, Line("R", 1, true, 1, "s", "c", []), row), StringComparison.Ordinal);
    }

    private static object Line(
        string id, int number, bool ok, int state, string? street, string? city, int[] sizes) =>
        Make("Line", new()
        {
            ["id"] = id,
            ["number"] = number,
            ["ok"] = ok,
            ["state"] = state,
            ["to"] = street is null && city is null
                ? null
                : new Hashtable { ["street"] = street, ["city"] = city },
            ["sizes"] = sizes,
        });

    private static string Table(int width, params object[] rows)
    {
        MessageTable table = new(DeferringModel.Instance, [rows[0]], Type("Line"), width);
        return string.Join('\n', rows.Select(table.Row).Prepend(table.Header(ViewStyle.Plain)));
    }
}

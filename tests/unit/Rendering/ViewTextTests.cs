using System.Text;
using ProtoRpc.Rendering;

namespace ProtoRpc.Tests.Rendering;

public static class ViewTextTests
{
    [Theory]
    [InlineData("", 0)]
    [InlineData("plain", 5)]
    [InlineData("grüße", 5)]
    [InlineData("e\u0301", 1)]
    [InlineData("日本", 4)]
    [InlineData("😀", 2)]
    public static void Text_is_measured_in_cells(string text, int cells) =>
        Assert.Equal(cells, ViewText.Cells(text));

    [Theory]
    [InlineData("abcdef", 6, "abcdef")]
    [InlineData("abcdef", 5, "abcd…")]
    [InlineData("abcdef", 1, "…")]
    [InlineData("日本語", 6, "日本語")]
    [InlineData("日本語", 5, "日本…")]
    [InlineData("日本語", 4, "日…")]
    [InlineData("a😀b", 3, "a…")]
    [InlineData("äöü", 2, "ä…")]
    public static void Text_is_shortened_to_cells(string text, int cells, string expected)
    {
        string shown = ViewText.Shorten(text, cells);

        Assert.Equal(expected, shown);
        Assert.True(ViewText.Cells(shown) <= cells);
    }

    [Theory]
    [InlineData("content.0", 9, "content.0")]
    [InlineData("containers/content.0", 9, "cont…nt.0")]
    [InlineData("containers/content.1", 10, "conta…nt.1")]
    [InlineData("日本語日本語", 7, "日…語")]
    [InlineData("a\nb", 9, "a\\nb")]
    [InlineData("abcdef", 2, "a…")]
    public static void Long_names_keep_their_beginning_and_their_end(string name, int cells, string expected)
    {
        string shown = ViewText.ShortenName(name, cells);

        Assert.Equal(expected, shown);
        Assert.True(ViewText.Cells(shown) <= cells);
    }

    [Theory]
    [InlineData("a\u001b[31mb", "a\\u001B[31mb")]
    [InlineData("a\nb\tc\rd", "a\\nb\\tc\\rd")]
    [InlineData("a\u202eb\u2066c", "a\\u202Eb\\u2066c")]
    [InlineData("a\u200bb\ufeffc\u00add", "a\\u200Bb\\uFEFFc\\u00ADd")]
    [InlineData("a\u2028b\u0085c\u007fd", "a\\u2028b\\u0085c\\u007Fd")]
    [InlineData("\U000e0041", "\\uDB40\\uDC41")]
    [InlineData("a\"b\\c", "a\"b\\c")]
    [InlineData("ünï 日本 😀", "ünï 日本 😀")]
    public static void Nothing_reaches_the_terminal_that_it_obeys_or_hides(string text, string expected) =>
        Assert.Equal(expected, ViewText.Neutral(text, 100));

    // Not data of a theory: a test's name cannot hold halves.
    [Fact]
    public static void Halves_of_surrogates_are_escaped()
    {
        Assert.Equal("a\\uD800b", ViewText.Neutral("a\ud800b", 100));
        Assert.Equal("\\uDC00", ViewText.Neutral("\udc00", 100));
        Assert.Equal("x\\uD83D", ViewText.Neutral("x\ud83d", 100));
    }

    [Fact]
    public static void Text_is_cut_before_it_is_read_to_its_end()
    {
        string long_ = new('\u0007', 10_000_000);

        string shown = ViewText.Neutral(long_, 50);

        Assert.InRange(shown.Length, 50, 60);
        Assert.EndsWith("…", shown, StringComparison.Ordinal);
    }

    [Fact]
    public static void Quoted_text_escapes_quotes_and_backslashes()
    {
        StringBuilder text = new();

        Assert.True(ViewText.Append(text, "a\"b\\c\n", 100, quoted: true));
        Assert.Equal("a\\\"b\\\\c\\n", text.ToString());
    }

    [Theory]
    [InlineData("one two three", 7, "one two|three")]
    [InlineData("onetwothree", 4, "onet|woth|ree")]
    [InlineData("日本語", 4, "日本|語")]
    [InlineData("日本語", 1, "日|本|語")]
    [InlineData("😀😀", 1, "😀|😀")]
    [InlineData(" a", 1, " |a")]
    public static void Text_is_wrapped_at_spaces(string text, int cells, string expected) =>
        Assert.Equal(expected.Split('|'), ViewText.Wrap(text, cells));
}

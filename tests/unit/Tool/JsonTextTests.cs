using System.Collections.Specialized;
using ProtoRpc.Tool;

namespace ProtoRpc.Tests.Tool;

public static class JsonTextTests
{
    [Fact]
    public static void Reads_objects_lists_and_scalars_with_whole_numbers_exact()
    {
        object? value = JsonText.Read(
            """{ "a": [1, -2.5, true, null], "b": { "c": "x" }, "big": 18446744073709551615 }""",
            "--message");

        IDictionary<string, object?> members =
            Assert.IsType<IDictionary<string, object?>>(value, exactMatch: false);
        Assert.Equal([1L, -2.5, true, null], Assert.IsType<List<object?>>(members["a"]));
        Assert.Equal("x", ((IDictionary<string, object?>)members["b"]!)["c"]);
        Assert.Equal(ulong.MaxValue, members["big"]);
    }

    [Fact]
    public static void Says_where_text_that_is_not_JSON_stood()
    {
        UsageException error = Assert.Throws<UsageException>(() => JsonText.Read("{ a: 1 }", "--reply"));

        Assert.StartsWith("--reply is not JSON: ", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void Writes_bytes_times_and_numbers_that_JSON_lacks()
    {
        OrderedDictionary value = new()
        {
            ["bytes"] = new byte[] { 1, 2, 255 },
            ["time"] = new DateTimeOffset(2024, 2, 29, 13, 0, 0, 500, TimeSpan.FromHours(1)),
            ["span"] = TimeSpan.FromMilliseconds(-1500),
            ["nan"] = double.NaN,
            ["list"] = new object?[] { 1, "a\"b", null },
            ["map"] = new Dictionary<int, bool> { [7] = true },
        };

        Assert.Equal(
            """{"bytes":"AQL/","time":"2024-02-29T12:00:00.5Z","span":"-1.5s","nan":"NaN","""
            + """ "list":[1,"a\"b",null],"map":{"7":true}}""".TrimStart(),
            JsonText.Write(value, indented: false));
    }

    [Fact]
    public static void Takes_the_text_from_a_file_or_from_standard_input()
    {
        string file = Path.GetTempFileName();
        try
        {
            File.WriteAllText(file, "[1]");

            Assert.Equal("[1]", JsonText.Source($"@{file}", TextReader.Null));
            Assert.Equal("[2]", JsonText.Source("-", new StringReader("[2]")));
            Assert.Equal("[3]", JsonText.Source("[3]", TextReader.Null));
        }
        finally
        {
            File.Delete(file);
        }
    }
}

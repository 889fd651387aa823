using System.Collections;
using ProtoRpc.Tests.Schema;

namespace ProtoRpc.Tests.Messages;

/// <summary>Rows of tables as messages, and messages as rows.</summary>
public sealed class RowMappingTests : IDisposable
{
    private static readonly MessageMapper Mapper = new();

    private readonly TempFolder _folder = new();
    private readonly RpcSchema _schema;

    public RowMappingTests()
    {
        _schema = RpcSchema.Load([_folder.Write("rows.proto", """
            syntax = "proto3";
            package rows;
            import "google/protobuf/any.proto";
            import "google/protobuf/duration.proto";
            import "google/protobuf/empty.proto";
            import "google/protobuf/field_mask.proto";
            import "google/protobuf/struct.proto";
            import "google/protobuf/timestamp.proto";
            import "google/protobuf/wrappers.proto";

            enum Kind { KIND_NONE = 0; KIND_BIG = 2; }
            message Place { string site = 1; Point at = 2; map<string, string> notes = 3; }
            message Point { double x = 1; float y = 2; }
            message Row {
              string name = 1;
              optional string nick = 2;
              int32 count = 3;
              optional int64 total = 4;
              optional bool done = 5;
              Kind kind = 6;
              optional Kind other_kind = 7;
              optional bytes data = 8;
              Place location = 9;
              repeated string tags = 10;
              repeated int64 numbers = 11;
              repeated Place stops = 12;
              map<string, int32> counts = 13;
              map<bool, Point> points = 14;
              google.protobuf.Timestamp at = 15;
              google.protobuf.Duration took = 16;
              google.protobuf.Struct extra = 17;
              google.protobuf.Any detail = 18;
              google.protobuf.FieldMask mask = 19;
              google.protobuf.Int32Value wrapped = 20;
              google.protobuf.ListValue list = 21;
              google.protobuf.Empty empty = 22;
              Row parent = 23;
              repeated bytes parts = 24;
              repeated google.protobuf.Timestamp times = 25;
              oneof choice { string word = 26; int32 digit = 27; Point point = 28; }
              oneof single { string only = 29; }
              optional uint64 big = 30;
            }
            """)]);
    }

    public void Dispose() => _folder.Dispose();

    [Fact]
    public void Dotted_names_fill_nested_fields()
    {
        DynamicMessage row = Row(new()
        {
            ["location.site"] = "A",
            ["Location.at.x"] = "1.5",
            ["location.notes.first.second"] = "n",
            ["counts.a.b"] = 3,
            ["counts.c"] = "",
            ["extra.color"] = "red",
            ["at.seconds"] = 5,
        });

        Assert.Equal(
            """{"location":{"site":"A","at":{"x":1.5},"notes":{"first.second":"n"}},"counts":{"a.b":3}"""
            + ""","at":"1970-01-01T00:00:05Z","extra":{"color":"red"}}""",
            Json(row));
    }

    [Fact]
    public void Dotted_names_whose_cells_are_all_empty_leave_the_message_out()
    {
        DynamicMessage row = Row(new()
        {
            ["location"] = "",
            ["location.site"] = "",
            ["location.at.x"] = null,
            ["location.notes.a"] = "",
            ["counts.a"] = "",
            ["point.x"] = "",
        });

        Assert.Equal("{}", Json(row));
    }

    [Theory]
    [InlineData("location.sit", "UnknownField", "Row.location.sit", "rows.Place")]
    [InlineData("location.at.z", "UnknownField", "Row.location.at.z", "rows.Point")]
    [InlineData("name.first", "UnknownField", "Row.name.first", "rows.Row")]
    [InlineData("stops.site", "UnknownField", "Row.stops.site", "rows.Row")]
    [InlineData("nowhere.site", "UnknownField", "Row.nowhere.site", "rows.Row")]
    [InlineData("location.", "UnknownField", "Row.location.", "rows.Row")]
    [InlineData(".site", "UnknownField", "Row..site", "rows.Row")]
    [InlineData("location.at.x", "InvalidFieldValue", "Row.location.at.x", "'v' (String) is not a number")]
    public void A_wrong_dotted_name_is_refused_where_it_is_wrong(
        string name, string errorId, string path, string reason)
    {
        RpcException e = Assert.Throws<RpcException>(() => Row(new() { [name] = "v" }));

        Assert.Equal(errorId, e.ErrorId);
        Assert.Equal(path, e.FieldPath);
        Assert.Contains(reason, e.Message);
    }

    [Fact]
    public void A_field_given_whole_and_in_parts_is_refused()
    {
        RpcException e = Assert.Throws<RpcException>(() => Row(new()
        {
            ["location"] = new Hashtable { ["site"] = "A" },
            ["location.site"] = "B",
        }));

        Assert.Contains("two keys name this field", e.Message);
        Assert.Equal("Row.location", e.FieldPath);
        Assert.Throws<RpcException>(() => Row(new() { ["location.site"] = "A", ["Location.site"] = "B" }));
    }

    [Fact]
    public void Unknown_dotted_names_are_left_out_when_unknown_fields_are()
    {
        MessageMapper lenient = new() { AllowUnknownFields = true };

        DynamicMessage row = lenient.ToMessage(
            _schema.GetMessage("rows.Row"),
            new Hashtable { ["x.y"] = 1, ["location.nope"] = 2, ["location.site"] = "A" });

        Assert.Equal("""{"location":{"site":"A"}}""", Json(row));
    }

    [Fact]
    public void An_empty_text_leaves_out_what_is_no_text()
    {
        Dictionary<string, object?> cells = _schema.GetMessage("rows.Row").Fields
            .ToDictionary(field => field.Name, object? (_) => "");

        DynamicMessage row = Row(cells);

        // The empty text of text is a value, but for a oneof with several columns.
        Assert.Equal("""{"nick":"","only":""}""", Json(row));
    }

    [Theory]
    [InlineData("word", "", "digit", "5", """{"digit":5}""")]
    [InlineData("digit", "", "word", "a", """{"word":"a"}""")]
    [InlineData("word", "a", "point.x", "", """{"word":"a"}""")]
    [InlineData("word", "", "point.x", "1", """{"point":{"x":1}}""")]
    [InlineData("word", "", "digit", "", "{}")]
    [InlineData("word", "", "digit", null, """{"word":""}""")]
    [InlineData("only", "", "word", "", """{"word":"","only":""}""")]
    public void An_empty_cell_of_a_oneof_is_no_choice_beside_others(
        string first, string? firstCell, string second, string? secondCell, string expected)
    {
        Assert.Equal(expected, Json(Row(new() { [first] = firstCell, [second] = secondCell })));
        Assert.Equal(expected, Json(Row(new() { [second] = secondCell, [first] = firstCell })));
    }

    [Theory]
    [InlineData("2024-02-29", "2024-02-29T00:00:00Z")]
    [InlineData(" 2024-02-29 12:30 ", "2024-02-29T12:30:00Z")]
    [InlineData("2024-02-29T12:30", "2024-02-29T12:30:00Z")]
    [InlineData("2024-02-29T12:30:15", "2024-02-29T12:30:15Z")]
    [InlineData("2024-02-29 12:30:15.123456789", "2024-02-29T12:30:15.123456789Z")]
    [InlineData("2024-02-29T12:30:15+02:00", "2024-02-29T10:30:15Z")]
    public void A_plain_date_is_in_UTC(string text, string expected)
    {
        Assert.Equal($$"""{"at":"{{expected}}"}""", Json(Row(new() { ["at"] = text })));
    }

    [Fact]
    public void A_day_is_its_start_in_UTC()
    {
        Assert.Equal(
            """{"at":"2024-02-29T00:00:00Z"}""", Json(Row(new() { ["at"] = new DateOnly(2024, 2, 29) })));
    }

    [Theory]
    [InlineData("2023-02-29")]
    [InlineData("02/29/2024")]
    [InlineData("2024-02-29T12:30:00Z5")]
    [InlineData("2024-02-29T")]
    [InlineData("20240229")]
    [InlineData("yesterday")]
    public void What_is_no_date_is_refused_with_what_would_do(string text)
    {
        RpcException e = Assert.Throws<RpcException>(() => Row(new() { ["at"] = text }));

        Assert.Contains($"'{text}' (String) is not a Timestamp", e.Message);
        Assert.Contains("'2024-02-29' (in UTC)", e.Message);
    }

    [Theory]
    [InlineData("tags", """["a","b"]""", """{"tags":["a","b"]}""")]
    [InlineData("tags", "[1]", """{"tags":["[1]"]}""")]
    [InlineData("tags", "[x]", """{"tags":["[x]"]}""")]
    [InlineData("tags", "[]", "{}")]
    [InlineData("numbers", "[1,\"2\",9007199254740993]", """{"numbers":["1","2","9007199254740993"]}""")]
    [InlineData("stops", """[{"site":"A"},{"at":{"x":1}}]""", """{"stops":[{"site":"A"},{"at":{"x":1}}]}""")]
    [InlineData("stops", """{"site":"A"}""", """{"stops":[{"site":"A"}]}""")]
    [InlineData("counts", """{"a":1}""", """{"counts":{"a":1}}""")]
    [InlineData("points", """{"true":{"x":1}}""", """{"points":{"true":{"x":1}}}""")]
    [InlineData("location", """ {"site":"A"}""", """{"location":{"site":"A"}}""")]
    [InlineData("extra", """{"a":[1,null,true,"x"]}""", """{"extra":{"a":[1,null,true,"x"]}}""")]
    [InlineData("list", "[1]", """{"list":[1]}""")]
    [InlineData("data", "base64:AQI=", """{"data":"AQI="}""")]
    [InlineData("data", "base64:", """{"data":""}""")]
    [InlineData("data", "", "{}")]
    [InlineData("parts", """["AQI=",""]""", """{"parts":["AQI=",""]}""")]
    [InlineData("parts", "utf8:[]", """{"parts":["W10="]}""")]
    [InlineData(
        "parent", """{"data":"AQI=","parts":["Aw=="]}""",
        """{"parent":{"data":"AQI=","parts":["Aw=="]}}""")]
    [InlineData("name", """{"site":"A"}""", """{"name":"{\"site\":\"A\"}"}""")]
    [InlineData("big", "18446744073709551615", """{"big":"18446744073709551615"}""")]
    [InlineData(
        "detail", """{"@type":"rows.Point","x":2}""",
        """{"detail":{"@type":"type.googleapis.com/rows.Point","x":2}}""")]
    public void Lists_maps_and_messages_are_read_from_JSON_in_a_cell(
        string name, string cell, string expected)
    {
        Assert.Equal(expected, Json(Row(new() { [name] = cell })));
    }

    [Theory]
    [InlineData("numbers", "[1,", "'[1,' (String) is not a whole number")]
    [InlineData("numbers", "[1,2.5]", "Row.numbers[1]")]
    [InlineData("stops", """[{"sit":"A"}]""", "Row.stops[0].sit")]
    [InlineData("counts", "{", "'{' (String) is not a map<string, int32>")]
    [InlineData("location", "{\"site\":", "is not a message rows.Place")]
    [InlineData("location", "[]", "'[]' (String) is not a message rows.Place")]
    public void Wrong_JSON_in_a_cell_is_refused(string name, string cell, string reason)
    {
        RpcException e = Assert.Throws<RpcException>(() => Row(new() { [name] = cell }));

        Assert.Contains(reason, e.Message);
    }

    [Fact]
    public void Text_in_a_dictionary_is_one_element_of_a_list_of_text()
    {
        RpcMessageInfo type = _schema.GetMessage("rows.Row");
        Hashtable given = new() { ["tags"] = """["a","b"]""", ["numbers"] = "[1]" };
        Hashtable dotted = new() { ["parent.tags"] = """["a","b"]""" };

        Assert.Equal(
            """{"tags":["[\"a\",\"b\"]"],"numbers":["1"]}""", Json(Mapper.ToMessage(type, given)));
        Assert.Equal("""{"parent":{"tags":["a","b"]}}""", Json(Mapper.ToMessage(type, dotted)));
    }

    [Fact]
    public void Deep_JSON_in_a_cell_is_refused()
    {
        string deep = string.Concat(Enumerable.Repeat("{\"parent\":", 150)) + "{}" + new string('}', 150);

        Assert.Equal("TooDeep", Assert.Throws<RpcException>(() => Row(new() { ["parent"] = deep })).ErrorId);
    }

    [Fact]
    public void A_row_has_the_columns_of_its_type_whatever_is_set()
    {
        IEnumerable<string> empty = Columns(Row([])).Keys;
        IEnumerable<string> full = Columns(Full()).Keys;

        Assert.Equal(empty, full);
        Assert.Equal(
            ["name", "nick", "count", "total", "done", "kind", "other_kind", "data", "location.site",
                "location.at.x", "location.at.y", "location.notes", "tags"],
            full.Take(13));
        Assert.DoesNotContain(full, name => name.StartsWith("parent.", StringComparison.Ordinal));
        Assert.Contains("empty", full);
        Assert.Contains("point.x", full);
    }

    [Fact]
    public void A_row_has_values_that_every_culture_writes_alike()
    {
        Dictionary<string, object?> row = Columns(Full());

        Assert.Equal("1.5", row["location.at.x"]);
        Assert.Equal("2024-02-29T12:30:00.500Z", row["at"]);
        Assert.Equal("1.500s", row["took"]);
        Assert.Equal("base64:AQL/", row["data"]);
        Assert.Equal("KIND_BIG", row["kind"]);
        Assert.Equal(5L, row["total"]);
        Assert.Equal("""["a","b,c"]""", row["tags"]);
        Assert.Equal("""{"a":1}""", row["counts"]);
        Assert.Equal("""[{"site":"S","notes":{}}]""", row["stops"]);
        Assert.Equal("""{"a":[1,null,"x"]}""", row["extra"]);
        Assert.Null(row["done"]);
        Assert.All(row.Values, cell => Assert.True(
            cell is null or string or bool or int or uint or long or ulong, $"{cell?.GetType()}"));
    }

    [Fact]
    public void A_row_that_went_through_text_is_the_same_message()
    {
        foreach (DynamicMessage message in new[] { Full(), Row(new() { ["nick"] = "", ["only"] = "" }) })
        {
            Dictionary<string, object?> cells = Columns(message).ToDictionary(
                cell => cell.Key, object? (cell) => Convert.ToString(cell.Value, null) ?? "");

            Assert.Equal(Json(message), Json(Row(cells)));
        }
    }

    [Fact]
    public void A_row_itself_is_the_same_message()
    {
        DynamicMessage message = Full();

        Assert.Equal(message, Mapper.ToMessage(message.Type, Mapper.ToRecord(message)));
    }

    [Fact]
    public void Rows_of_every_type_are_read_again()
    {
        RandomMessages random = new(7);
        foreach (RpcMessageInfo type in TestProtos.Everything.Messages
            .Where(m => m.FullName.StartsWith("everything.proto", StringComparison.Ordinal))
            .Where(m => m.Name != "WellKnown"))
        {
            DynamicMessage message = random.Make(type);

            IReadOnlyList<KeyValuePair<string, object?>> row = Mapper.ToRecord(message);

            Assert.Equal(row.Count, row.DistinctBy(cell => cell.Key).Count());
            Assert.NotNull(Mapper.ToMessage(type, row.ToDictionary()));
        }
    }

    // As pairs, for a dictionary is no row.
    private DynamicMessage Row(Dictionary<string, object?> cells) =>
        Mapper.ToMessage(_schema.GetMessage("rows.Row"), cells.ToArray());

    private DynamicMessage Full() => Row(new()
    {
        ["name"] = "a \"b\"\nc",
        ["nick"] = "=n",
        ["count"] = -3,
        ["total"] = 5,
        ["kind"] = "KIND_BIG",
        ["other_kind"] = 7,
        ["data"] = new byte[] { 1, 2, 255 },
        ["location"] = new Hashtable
        {
            ["site"] = "S",
            ["at"] = new Hashtable { ["x"] = 1.5, ["y"] = 0.1f },
            ["notes"] = new Hashtable { ["k.1"] = "v" },
        },
        ["tags"] = new[] { "a", "b,c" },
        ["numbers"] = new[] { long.MinValue, long.MaxValue },
        ["stops"] = new[] { new Hashtable { ["site"] = "S" } },
        ["counts"] = new Hashtable { ["a"] = 1 },
        ["points"] = new Hashtable { [true] = new Hashtable { ["x"] = double.NegativeInfinity } },
        ["at"] = "2024-02-29T12:30:00.5Z",
        ["took"] = TimeSpan.FromSeconds(1.5),
        ["extra"] = new Hashtable { ["a"] = new object?[] { 1, null, "x" } },
        ["detail"] = new Hashtable { ["@type"] = "rows.Point", ["x"] = 2 },
        ["mask"] = "a.b,c",
        ["wrapped"] = 0,
        ["list"] = new object[] { 1, "x" },
        ["empty"] = new Hashtable(),
        ["parent"] = new Hashtable { ["name"] = "p", ["parent"] = new Hashtable { ["count"] = 1 } },
        ["parts"] = new[] { new byte[] { 1 }, Array.Empty<byte>() },
        ["times"] = new[] { "2024-01-01", "2025-01-01" },
        ["digit"] = 9,
        ["only"] = "o",
        ["big"] = ulong.MaxValue,
    });

    private static Dictionary<string, object?> Columns(DynamicMessage message) =>
        Mapper.ToRecord(message).ToDictionary();

    private static string Json(DynamicMessage message) =>
        ProtoRpc.MessageFormats.Json.ToText(message);
}

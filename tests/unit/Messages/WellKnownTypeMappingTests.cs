using System.Collections;
using System.Diagnostics.CodeAnalysis;
using static ProtoRpc.Tests.Messages.TestMessages;

namespace ProtoRpc.Tests.Messages;

public static class WellKnownTypeMappingTests
{
    private static readonly RpcMessageInfo WellKnown = Type("proto3.WellKnown");
    private static readonly MessageMapper Mapper = new();

    public static TheoryData<object, long, int> Times() => new()
    {
        { "1970-01-01T00:00:00Z", 0, 0 },
        { "2024-02-29T12:30:00.123456789Z", 1709209800, 123456789 },
        { "2024-02-29t12:30:00.5+01:00", 1709206200, 500000000 },
        { "2024-02-29 12:30:00-00:30", 1709211600, 0 },
        { "0001-01-01T00:00:00Z", -62135596800, 0 },
        { "9999-12-31T23:59:59.999999999Z", 253402300799, 999999999 },
        { "1969-12-31T23:59:59.9Z", -1, 900000000 },
        { new DateTime(2024, 2, 29, 12, 30, 0, DateTimeKind.Utc), 1709209800, 0 },
        { new DateTime(2024, 2, 29, 12, 30, 0, DateTimeKind.Utc).ToLocalTime(), 1709209800, 0 },
        { new DateTimeOffset(2024, 2, 29, 12, 30, 0, TimeSpan.FromHours(2)).AddTicks(1), 1709202600, 100 },
        { new Hashtable { ["seconds"] = 5, ["nanos"] = 6 }, 5, 6 },
        { new { seconds = "5" }, 5, 0 },
    };

    public static TheoryData<object, long, int> Spans() => new()
    {
        { "1.5s", 1, 500000000 },
        { "-1.5s", -1, -500000000 },
        { "-0.000000001s", 0, -1 },
        { "315576000000s", 315576000000, 0 },
        { "00:00:01.5", 1, 500000000 },
        { "1.00:00:00", 86400, 0 },
        { "50ms", 0, 50000000 },
        { "-2.5ms", 0, -2500000 },
        { "7us", 0, 7000 },
        { "7 ns", 0, 7 },
        { "5m", 300, 0 },
        { "1.5h", 5400, 0 },
        { "2.5", 2, 500000000 },
        { "5", 5, 0 },
        { 5, 5, 0 },
        { 2.5, 2, 500000000 },
        { 0.1, 0, 100000000 },
        { 0.1m, 0, 100000000 },
        { -1.5f, -1, -500000000 },
        { 315576000000L, 315576000000, 0 },
        { 1.0 / 3, 0, 333333333 },
        { TimeSpan.FromMilliseconds(-1500), -1, -500000000 },
        { new { seconds = -1, nanos = -5 }, -1, -5 },
    };

    [Fact]
    public static void A_duration_takes_no_more_memory_than_a_timestamp()
    {
        long ofTime = Allocated("timestamp", DateTimeOffset.UnixEpoch);
        long ofSpan = Allocated("duration", TimeSpan.FromSeconds(1.5));

        Assert.InRange(ofSpan, 1, ofTime);

        static long Allocated(string field, object value)
        {
            Dictionary<string, object?> given = new() { [field] = value };
            Mapper.ToMessage(WellKnown, given);
            long before = GC.GetAllocatedBytesForCurrentThread();
            Mapper.ToMessage(WellKnown, given);
            return GC.GetAllocatedBytesForCurrentThread() - before;
        }
    }

    [Theory]
    [MemberData(nameof(Times))]
    public static void A_timestamp_takes_times(object value, long seconds, int nanos)
    {
        DynamicMessage time = (DynamicMessage)Map("timestamp", value).Get("timestamp")!;

        Assert.Equal((seconds, nanos), ((long)time.Get("seconds")!, (int)time.Get("nanos")!));
    }

    [Theory]
    [MemberData(nameof(Spans))]
    public static void A_duration_takes_spans(object value, long seconds, int nanos)
    {
        DynamicMessage span = (DynamicMessage)Map("duration", value).Get("duration")!;

        Assert.Equal((seconds, nanos), ((long)span.Get("seconds")!, (int)span.Get("nanos")!));
    }

    [Fact]
    public static void A_time_without_kind_is_local()
    {
        DateTime local = new(2024, 7, 1, 12, 0, 0, DateTimeKind.Unspecified);

        Assert.Equal(
            new DateTimeOffset(DateTime.SpecifyKind(local, DateTimeKind.Local)).ToUnixTimeSeconds(),
            ((DynamicMessage)Map("timestamp", local).Get("timestamp")!).Get("seconds"));
    }

    [Theory]
    [InlineData("timestamp", "yesterday")]
    [InlineData("timestamp", "2024-02-30T00:00:00Z")]
    [InlineData("timestamp", "2024-02-29T00:00:00.Z")]
    [InlineData("timestamp", "2024-02-29T00:00:00.1234567890Z")]
    [InlineData("timestamp", "2024-02-29T00:00:00+0100")]
    [InlineData("timestamp", "2024-02-29T00:00:60Z")]
    [InlineData("timestamp", "0001-01-01T00:00:00+01:00")]
    [InlineData("timestamp", "9999-12-31T23:59:59-01:00")]
    [InlineData("timestamp", 5)]
    [InlineData("duration", "s")]
    [InlineData("duration", "ms")]
    [InlineData("duration", "5 parsecs")]
    [InlineData("duration", "1,5s")]
    [InlineData("duration", "1,500ms")]
    [InlineData("duration", "1e30ms")]
    [InlineData("duration", "--1s")]
    [InlineData("duration", "1.s")]
    [InlineData("duration", "1.1234567890s")]
    [InlineData("duration", "315576000001s")]
    [InlineData("duration", "10675199.02:48:05")]
    [InlineData("duration", "99999999999999999999s")]
    [InlineData("duration", "1:2:3:4:5")]
    [InlineData("duration", true)]
    [InlineData("duration", 315576000001L)]
    [InlineData("duration", double.NaN)]
    [InlineData("duration", double.MaxValue)]
    public static void What_is_no_time_or_out_of_range_is_refused(string field, object value)
    {
        RpcException e = Assert.Throws<RpcException>(() => Map(field, value));

        Assert.Equal("InvalidFieldValue", e.ErrorId);
        Assert.Equal("WellKnown." + field, e.FieldPath);
    }

    [Fact]
    public static void Seconds_and_nanos_out_of_range_are_refused()
    {
        Assert.Throws<RpcException>(() => Map("timestamp", new { seconds = 253402300800 }));
        Assert.Throws<RpcException>(() => Map("timestamp", new { nanos = -1 }));
        Assert.Throws<RpcException>(() => Map("duration", new { seconds = 1, nanos = -1 }));
        Assert.Equal(
            "WellKnown.timestamp.nanos",
            Assert.Throws<RpcException>(() => Map("timestamp", new { nanos = "x" })).FieldPath);
    }

    [Fact]
    public static void Times_are_shown_as_DateTimeOffset_and_TimeSpan()
    {
        IDictionary shown = Show(
            new() { ["timestamp"] = "2024-02-29T12:30:00.123456789Z", ["duration"] = "-1.5s" });

        Assert.Equal(
            new DateTimeOffset(
                2024, 2, 29, 12, 30, 0, 123, 456, TimeSpan.Zero).AddTicks(7), shown["timestamp"]);
        Assert.Equal(TimeSpan.FromSeconds(-1.5), shown["duration"]);
    }

    [Fact]
    public static void Times_out_of_range_are_shown_as_seconds_and_nanos()
    {
        DynamicMessage message = Parse("proto3.WellKnown", "4A 0A 08 FFFFFFFFFFFFFFFF7F 12 06 10 FFFFFFFF07");

        IDictionary shown = (IDictionary)Mapper.ToObject(message);

        Assert.Equal(long.MaxValue, ((IDictionary)shown["timestamp"]!)["seconds"]);
        Assert.Equal(int.MaxValue, ((IDictionary)shown["duration"]!)["nanos"]);
    }

    [Theory]
    [InlineData("double_value", 1.5, 1.5)]
    [InlineData("float_value", 1.5, 1.5f)]
    [InlineData("int64_value", "5", 5L)]
    [InlineData("uint64_value", 5, 5UL)]
    [InlineData("int32_value", 0, 0)]
    [InlineData("uint32_value", 5, 5U)]
    [InlineData("bool_value", false, false)]
    [InlineData("string_value", "", "")]
    [InlineData("bytes_value", "base64:AQ==", new byte[] { 1 })]
    [InlineData("bytes_value", "utf8:a", new byte[] { 0x61 })]
    public static void Wrappers_are_bare_values(string field, object value, object shown)
    {
        DynamicMessage message = Map(field, value);

        Assert.True(message.Has(field));
        Assert.Equal(shown, ((IDictionary)Mapper.ToObject(message))[field]);
        Assert.Equal(message, Map(field, new Hashtable { ["value"] = value }));
        Assert.Null(((IDictionary)Mapper.ToObject(new DynamicMessage(WellKnown)))[field]);
    }

    [Fact]
    public static void Errors_in_wrappers_name_the_field()
    {
        RpcException e = Assert.Throws<RpcException>(() => Map("int32_value", "x"));

        Assert.Equal("WellKnown.int32_value", e.FieldPath);
        Assert.Contains("is not a whole number", e.Message);
    }

    [Fact]
    public static void Struct_takes_what_JSON_has_and_gives_it_back()
    {
        Hashtable source = new()
        {
            ["null"] = null,
            ["bool"] = true,
            ["number"] = 5,
            ["text"] = "a",
            ["date"] = new DateOnly(2024, 2, 29),
            ["list"] = new object?[] { 1, null, "x", new object[] { 2 }, new Hashtable { ["deep"] = 1.5 } },
            ["object"] = new { inner = false },
        };

        IDictionary shown = (IDictionary)((IDictionary)Mapper.ToObject(Map("struct", source)))["struct"]!;

        Assert.Equal(source.Count, shown.Count);
        Assert.Null(shown["null"]);
        Assert.Equal(true, shown["bool"]);
        Assert.Equal(5.0, shown["number"]);
        Assert.Equal("a", shown["text"]);
        Assert.Equal("2024-02-29", shown["date"]);
        object?[] list = (object?[])shown["list"]!;
        Assert.Equal([1.0, null, "x"], list[..3]);
        Assert.Equal([2.0], (object?[])list[3]!);
        Assert.Equal(1.5, ((IDictionary)list[4]!)["deep"]);
        Assert.Equal(false, ((IDictionary)shown["object"]!)["inner"]);
    }

    [Fact]
    public static void An_object_that_formats_itself_is_still_an_object()
    {
        MessageMapper mapper = new(new OpenModel());
        DynamicMessage message = mapper.ToMessage(
            WellKnown, new Hashtable { ["value"] = new MessageMapperTests.Formatted() });

        Assert.Equal(5.0, ((IDictionary)((IDictionary)Mapper.ToObject(message))["value"]!)["Number"]);
    }

    [Fact]
    public static void A_value_that_JSON_lacks_is_refused_with_its_path()
    {
        Assert.Equal(
            "WellKnown.struct.list[1]",
            Assert.Throws<RpcException>(
                () => Map("struct", new { list = new[] { 1, double.NaN } })).FieldPath);
        Assert.Throws<RpcException>(() => Map("value", (Action)(() => { })));
        Assert.Throws<RpcException>(() => Map("list_value", "text"));
        Assert.Throws<RpcException>(() => Map("struct", 5));
    }

    [Fact]
    public static void Null_is_a_value_in_lists_and_maps_and_absent_elsewhere()
    {
        DynamicMessage message = Mapper.ToMessage(WellKnown, new Hashtable
        {
            ["values"] = new object?[] { null, 1 },
            ["value_by_name"] = new Hashtable { ["k"] = null },
            ["value"] = null,
        });
        IDictionary shown = (IDictionary)Mapper.ToObject(message);

        Assert.Equal([null, 1.0], (object?[])shown["values"]!);
        Assert.Null(((IDictionary)shown["value_by_name"]!)["k"]);
        Assert.True(((IDictionary)shown["value_by_name"]!).Contains("k"));
        Assert.False(message.Has("value"));
        Assert.Equal("WellKnown.int32_values[0]", Assert.Throws<RpcException>(
            () => Map("int32_values", new object?[] { null })).FieldPath);
    }

    [Fact]
    public static void A_list_within_itself_is_refused()
    {
        List<object> cyclic = [];
        cyclic.Add(cyclic);

        Assert.Equal("TooDeep", Assert.Throws<RpcException>(() => Map("list_value", cyclic)).ErrorId);
    }

    [Fact]
    public static void A_struct_that_is_taken_can_be_read()
    {
        object value = 1;
        for (int depth = 1; ; depth++)
        {
            value = new Hashtable { ["k"] = value };
            DynamicMessage message;
            try
            {
                message = Map("struct", value);
            }
            catch (RpcException e)
            {
                Assert.Equal("TooDeep", e.ErrorId);
                Assert.InRange(depth, 20, 50);
                return;
            }
            Assert.Equal(message, DynamicMessage.Parse(WellKnown, message.ToByteArray().AsSpan()));
        }
    }

    [Theory]
    [InlineData("a,b.c")]
    [InlineData(" a , b.c,")]
    public static void A_field_mask_is_text_with_commas(string value)
    {
        Assert.Equal("a,b.c", ((IDictionary)Mapper.ToObject(Map("field_mask", value)))["field_mask"]);
    }

    [Fact]
    public static void A_field_mask_takes_lists()
    {
        Assert.Equal(Map("field_mask", "a,b.c"), Map("field_mask", new[] { "a", "b.c" }));
        Assert.Equal(Map("field_mask", "a,b.c"), Map("field_mask", new { paths = new[] { "a", "b.c" } }));
        Assert.Throws<RpcException>(() => Map("field_mask", new object[] { 5 }));
        Assert.Throws<RpcException>(() => Map("field_mask", 5));
    }

    [Theory]
    [InlineData("google.protobuf.Timestamp", "2024-02-29T12:30:00Z")]
    [InlineData("google.protobuf.Duration", "1s")]
    [InlineData("google.protobuf.StringValue", "a")]
    [InlineData("google.protobuf.FieldMask", "a")]
    [InlineData("google.protobuf.Value", 5.0)]
    public static void A_well_known_type_is_a_message_of_its_own(string name, object value)
    {
        RpcMessageInfo type = WellKnown.Schema.GetMessage(name);
        DynamicMessage message = Mapper.ToMessage(type, value);

        Assert.Equal(message, Mapper.ToMessage(type, Mapper.ToObject(message)));
    }

    [Fact]
    public static void Null_alone_is_the_null_value_and_is_shown_as_DBNull()
    {
        RpcMessageInfo type = WellKnown.Schema.GetMessage("google.protobuf.Value");
        DynamicMessage message = Mapper.ToMessage(type, null);

        Assert.Equal("0800", Hex(message));
        Assert.Equal(DBNull.Value, Mapper.ToObject(message));
        Assert.Equal(message, Mapper.ToMessage(type, DBNull.Value));
    }

    [Fact]
    public static void Random_messages_come_back_but_for_what_their_shapes_cannot_show()
    {
        RandomMessages random = new(1);
        for (int i = 0; i < 100; i++)
        {
            DynamicMessage message = random.Make(WellKnown);
            object shown = Mapper.ToObject(message);
            try
            {
                // A FieldMask of one empty path is empty text, which is absent.
                DynamicMessage once = Mapper.ToMessage(WellKnown, shown);
                DynamicMessage back = Mapper.ToMessage(WellKnown, Mapper.ToObject(once));
                Assert.Equal(
                    Mapper.ToMessage(WellKnown, Mapper.ToObject(back)).ToByteArray(), back.ToByteArray());
            }
            catch (RpcException e)
            {
                // Random seconds are out of range, random numbers not finite, random type URLs nothing, and
                // several empty paths no text.
                Assert.Matches("Timestamp|Duration|finite|@type|names no path", e.Message);
            }
        }
    }

    [Fact]
    public static void Half_of_a_surrogate_pair_is_refused_wherever_a_text_stands()
    {
        object[] values =
        [
            new Hashtable { ["field_mask"] = "a\uD800" },
            new Hashtable { ["field_mask"] = new[] { "a", "\uDC00" } },
            new Hashtable { ["struct"] = new Hashtable { ["\uD800"] = 1 } },
            new Hashtable { ["value"] = new Hashtable { ["\uD800"] = 1 } },
            new Hashtable { ["any"] = new Hashtable { ["@type"] = "a/\uD800", ["value"] = "AAEC" } },
        ];
        foreach (object value in values)
        {
            RpcException e = Assert.Throws<RpcException>(() => Mapper.ToMessage(WellKnown, value));

            Assert.Equal("InvalidFieldValue", e.ErrorId);
            Assert.Contains("surrogate", e.Message, StringComparison.Ordinal);
        }
    }

    /// <summary>Sees members in an object that formats itself.</summary>
    [Theory]
    [InlineData("")]
    [InlineData("oneof kind {")]
    public static void A_Value_whose_fields_are_not_all_in_one_oneof_is_a_message_like_any_other(string oneof)
    {
        string first = "NullValue null_value = 1; double number_value = 2;";
        RpcMessageInfo type = ReplyMismatchTests.Load($$"""
            syntax = "proto3";
            package google.protobuf;
            enum NullValue { NULL_VALUE = 0; }
            message ListValue { }
            message Value {
              {{(oneof.Length > 0 ? $"{first} {oneof}" : first)}}
              string string_value = 3; bool bool_value = 4;
              ListValue struct_value = 5; ListValue list_value = 6;
              {{(oneof.Length > 0 ? "}" : "")}}
            }
            """).GetMessage("google.protobuf.Value");
        DynamicMessage message = DynamicMessage.Parse(type, [0x1A, 0x01, (byte)'a']);

        Assert.Equal("a", ((IDictionary)Mapper.ToObject(message)!)["string_value"]);
    }

    private sealed class OpenModel : IObjectModel
    {
        public object? Unwrap(object? value) => value;

        public bool TryGetMembers(
            object value, [NotNullWhen(true)] out IEnumerable<KeyValuePair<string, object?>>? members)
        {
            members = value is MessageMapperTests.Formatted formatted
                ? [new("Number", formatted.Number)]
                : null;
            return members is not null || PlainObjectModel.Instance.TryGetMembers(value, out members);
        }

        public object CreateObject(
            DynamicMessage source, IReadOnlyList<RpcFieldInfo> fields, IReadOnlyList<object?> values) =>
            PlainObjectModel.Instance.CreateObject(source, fields, values);
    }

    private static DynamicMessage Map(string field, object? value) =>
        Mapper.ToMessage(WellKnown, new Dictionary<string, object?> { [field] = value });

    private static IDictionary Show(Hashtable source) =>
        (IDictionary)Mapper.ToObject(Mapper.ToMessage(WellKnown, source));
}

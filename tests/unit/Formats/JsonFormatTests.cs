using System.Text;
using ProtoRpc.Tests.Messages;

namespace ProtoRpc.Tests.Formats;

public static class JsonFormatTests
{
    private static readonly FormatOptions Lenient = new() { IgnoreUnknownFields = true };

    [Theory]
    [InlineData(
        """{"fDouble":1.5,"fFloat":-0.25"""
        + ""","fInt64":"-9223372036854775808","fUint64":"18446744073709551615"}""")]
    [InlineData(
        """{"fInt32":-2147483648,"fFixed64":"1","fFixed32":4294967295,"fBool":true,"fString":"\n\"é漢"}""")]
    [InlineData("""{"fMessage":{"text":"a","child":{}},"fBytes":"/+8=","fEnum":"GREEN","fSfixed64":"-1"}""")]
    [InlineData("""{"fDouble":"NaN","fFloat":"-Infinity"}""")]
    [InlineData("""{"fEnum":12345}""")]
    [InlineData("""{"fDouble":-0.0,"fFloat":-0.0}""")]
    public static void Writes_what_it_has_read(string json) =>
        Assert.Equal(json, MessageFormats.Json.Again("proto3.Singular", json));

    [Theory]
    [InlineData(
        "proto3.Repeated",
        """{"fInt64":["1","2"],"fString":["","a"],"fMessage":[{},{"text":"b"}],"fEnum":["RED",7]}""")]
    [InlineData(
        "proto3.Maps", """{"int32Double":{"-1":0.5},"boolSfixed32":{"true":3},"stringEnum":{"":"RED"}}""")]
    [InlineData("proto3.Maps", """{"stringBytes":{"b":"AA=="},"stringMessage":{"k":{"text":"v"}}}""")]
    [InlineData("proto3.Choice", """{"nothing":null}""")]
    [InlineData("proto3.Choice", """{"word":""}""")]
    [InlineData(
        "proto3.Names",
        """{"plain":1,"snakeCaseName":2,"PascalCase":4,"Leading":5,"trailing":6,"@other":8}""")]
    [InlineData(
        "proto3.WellKnown",
        """{"duration":"-1.500s","fieldMask":"a.bC,d","timestamp":"2024-02-29T12:30:00.000000001Z"}""")]
    [InlineData(
        "proto3.WellKnown",
        """{"empty":{},"struct":{"a":[1,null,{"b":true}]},"value":null,"listValue":["x"]}""")]
    [InlineData(
        "proto3.WellKnown",
        """{"int64Value":"0","boolValue":false,"stringValue":"","bytesValue":"","values":[null,1]}""")]
    [InlineData(
        "proto3.WellKnown", """{"any":{"@type":"type.googleapis.com/everything.proto3.Leaf","text":"in"}}""")]
    [InlineData(
        "proto3.WellKnown",
        """{"any":{"@type":"type.googleapis.com/google.protobuf.Duration","value":"3s"}}""")]
    [InlineData("proto3.WellKnown", """{"any":{"@type":"type.googleapis.com/google.protobuf.Empty"}}""")]
    [InlineData("proto3.WellKnown", """{"any":{}}""")]
    [InlineData("proto3.WellKnown", """{"any":{"@type":"type.googleapis.com/no.Such","value":"AQI="}}""")]
    [InlineData("proto3.WellKnown", """{"any":{"@type":"x/no.Such","value":""}}""")]
    [InlineData(
        "proto3.WellKnown", """{"anys":[{"@type":"a/no.Such","value":"AA=="},{"@type":"a/b","value":""}]}""")]
    [InlineData(
        "proto2.Extendable",
        """{"[everything.proto2.Extendable.nested_packed]":[1],"[everything.proto2.x_string]":"hi"}""")]
    [InlineData("proto2.Singular", """{"fgroup":{"a":1}}""")]
    public static void Writes_every_shape_as_it_came(string type, string json) =>
        Assert.Equal(json, MessageFormats.Json.Again(type, json));

    [Theory]
    [InlineData("""{"@type":"type.googleapis.com/google.protobuf.Empty"}""")]
    [InlineData("""{"@type":"type.googleapis.com/google.protobuf.Empty","value":{}}""")]
    [InlineData("""{"value":{},"@type":"type.googleapis.com/google.protobuf.Empty"}""")]
    public static void An_Empty_in_an_Any_is_read_with_and_without_a_value(string any)
    {
        Assert.Equal(
            """{"any":{"@type":"type.googleapis.com/google.protobuf.Empty"}}""",
            MessageFormats.Json.Again("proto3.WellKnown", $$"""{"any":{{any}}}"""));
    }

    [Theory]
    [InlineData("""{"f_int32":1}""", """{"fInt32":1}""")]
    [InlineData("""{"fInt64":5}""", """{"fInt64":"5"}""")]
    [InlineData("""{"fInt32":"5"}""", """{"fInt32":5}""")]
    [InlineData("""{"fInt32":1.0e3}""", """{"fInt32":1000}""")]
    [InlineData("""{"fUint64":1.8446744073709551615e19}""", """{"fUint64":"18446744073709551615"}""")]
    [InlineData("""{"fBytes":"_-8"}""", """{"fBytes":"/+8="}""")]
    [InlineData("""{"fEnum":2}""", """{"fEnum":"GREEN"}""")]
    [InlineData("""{"fInt32":null,"fMessage":null,"fString":null}""", """{}""")]
    [InlineData(""" { "fString" : "\u0041\ud83d\ude00" } """, """{"fString":"A\uD83D\uDE00"}""")]
    [InlineData("""{"f\u0053tring":"x"}""", """{"fString":"x"}""")]
    [InlineData("""{"fDouble":"1.5e3"}""", """{"fDouble":1500}""")]
    public static void Reads_the_other_spellings(string json, string expected) =>
        Assert.Equal(expected, MessageFormats.Json.Again("proto3.Singular", json));

    [Theory]
    [InlineData("""{"fInt32":2147483648}""", "Singular.f_int32", "does not fit into int32")]
    [InlineData("""{"fInt32":1.5}""", "Singular.f_int32", "is not a whole number")]
    [InlineData("""{"fInt32":1e400}""", "Singular.f_int32", "does not fit")]
    [InlineData("""{"fInt32":1e-400}""", "Singular.f_int32", "is not a whole number")]
    [InlineData("""{"fInt32":" 1"}""", "Singular.f_int32", "is not a whole number")]
    [InlineData("""{"fUint32":-1}""", "Singular.f_uint32", "does not fit")]
    [InlineData(
        """{"fUint64":"99999999999999999999999999999999999999999999999"}""",
        "Singular.f_uint64", "does not fit")]
    [InlineData("""{"fDouble":1e999}""", "Singular.f_double", "does not fit into double")]
    [InlineData("""{"fFloat":3.5e38}""", "Singular.f_float", "does not fit into float")]
    [InlineData("""{"fDouble":"nan"}""", "Singular.f_double", "is not a number")]
    [InlineData("""{"fBool":"true"}""", "Singular.f_bool", "without quotes")]
    [InlineData("""{"fString":1}""", "Singular.f_string", "text in quotes")]
    [InlineData("""{"fBytes":"!"}""", "Singular.f_bytes", "is not base64")]
    [InlineData("""{"fBytes":"QQ==="}""", "Singular.f_bytes", "is not base64")]
    [InlineData("""{"fBytes":"Q"}""", "Singular.f_bytes", "is not base64")]
    [InlineData("""{"fEnum":"GREN"}""", "Singular.f_enum", "Did you mean 'GREEN'?")]
    [InlineData("""{"fEnum":"green"}""", "Singular.f_enum", "is not in the enum")]
    [InlineData("""{"fMessage":[]}""", "Singular.f_message", "needs an object")]
    [InlineData("""{"fString":"a","f_string":"b"}""", "Singular.f_string", "occurs twice")]
    [InlineData("""{"fStrin":"a"}""", "Singular.fStrin", "has no field 'fStrin'. Did you mean 'f_string'?")]
    public static void Names_the_field_and_what_is_wrong_with_it(string json, string path, string problem)
    {
        RpcException e = MessageFormats.Json.Refused("proto3.Singular", json);

        Assert.Equal(RpcStatusCode.InvalidArgument, e.Code);
        Assert.Equal(path, e.FieldPath);
        Assert.Contains(problem, e.Message);
        Assert.Contains("line 1, column ", e.Message);
    }

    [Theory]
    [InlineData("proto3.Choice", """{"number":1,"word":"a"}""", "OneofConflict")]
    [InlineData("proto3.Maps", """{"stringBool":{"a":true,"a":false}}""", "InvalidFieldValue")]
    [InlineData("proto3.Maps", """{"boolSfixed32":{"True":1}}""", "InvalidFieldValue")]
    [InlineData("proto3.Maps", """{"stringBool":{"a":null}}""", "InvalidFieldValue")]
    [InlineData("proto3.Repeated", """{"fInt32":[1,null]}""", "InvalidFieldValue")]
    [InlineData("proto3.Repeated", """{"fInt32":[1,]}""", "MalformedMessage")]
    [InlineData("proto3.Repeated", """{"fInt32":1}""", "InvalidFieldValue")]
    [InlineData("proto3.Leaf", """{"text":"a"} {}""", "MalformedMessage")]
    [InlineData("proto3.Leaf", """{"text":"a" """, "MalformedMessage")]
    [InlineData("proto3.Leaf", "", "MalformedMessage")]
    [InlineData("proto3.Leaf", "// no\n{}", "MalformedMessage")]
    [InlineData("proto3.Leaf", """{'text':'a'}""", "MalformedMessage")]
    [InlineData("proto3.Leaf", """{"text":"\ud800"}""", "MalformedMessage")]
    [InlineData("proto2.Required", "{}", "MissingRequiredField")]
    [InlineData("proto2.Singular", """{"fEnum":99}""", "InvalidFieldValue")]
    [InlineData("proto3.WellKnown", """{"any":{"text":"x"}}""", "InvalidFieldValue")]
    [InlineData("proto3.WellKnown", """{"any":{"@type":"x/no.Such"}}""", "InvalidFieldValue")]
    [InlineData("proto3.WellKnown", """{"any":{"@type":"x/no.Such","value":"1.5s"}}""", "InvalidFieldValue")]
    [InlineData("proto3.WellKnown", """{"any":{"@type":"x/no.Such","value":1}}""", "InvalidFieldValue")]
    [InlineData("proto3.WellKnown", """{"any":{"@type":"x/no.Such","value":null}}""", "InvalidFieldValue")]
    [InlineData(
        "proto3.WellKnown", """{"any":{"value":"AQ==","text":"","@type":"a/no.b"}}""", "InvalidFieldValue")]
    [InlineData(
        "proto3.WellKnown", """{"any":{"@type":"a/b","value":"","value":""}}""", "InvalidFieldValue")]
    [InlineData("proto3.WellKnown", """{"any":{"@type":"none","value":"AQ=="}}""", "InvalidFieldValue")]
    [InlineData("proto3.WellKnown", """{"timestamp":"2024-02-30T00:00:00Z"}""", "InvalidFieldValue")]
    [InlineData("proto3.WellKnown", """{"duration":"1"}""", "InvalidFieldValue")]
    [InlineData("proto3.WellKnown", """{"fieldMask":"a_b"}""", "InvalidFieldValue")]
    [InlineData("proto3.WellKnown", """{"struct":{"a":1,"a":2}}""", "InvalidFieldValue")]
    public static void Refuses_what_is_wrong(string type, string json, string errorId) =>
        Assert.Equal(errorId, MessageFormats.Json.Refused(type, json).ErrorId);

    [Fact]
    public static void Tells_the_line_and_column()
    {
        RpcException e = MessageFormats.Json.Refused(
            "proto3.Leaf", "{\n  \"child\": {\n    \"text\": 5\n  }\n}");

        Assert.Equal("Leaf.child.text", e.FieldPath);
        Assert.Contains("line 3, column 13", e.Message);
    }

    [Fact]
    public static void Refuses_bytes_that_are_not_utf8()
    {
        byte[] json = [.. "{\"text\":\""u8, 0xC3, 0x28, .. "\"}"u8];

        Assert.Equal("MalformedMessage", MessageFormats.Json.Refused("proto3.Leaf", json).ErrorId);
    }

    [Theory]
    [InlineData(100, true)]
    [InlineData(101, false)]
    [InlineData(100_000, false)]
    public static void Reads_messages_nested_as_deep_as_the_limit(int depth, bool fits)
    {
        string json = string.Concat(Enumerable.Repeat("{\"child\":", depth)) + "{}" + new string('}', depth);

        if (fits)
        {
            Assert.Equal(json, MessageFormats.Json.Again("proto3.Leaf", json));
        }
        else
        {
            Assert.Equal("TooDeep", MessageFormats.Json.Refused("proto3.Leaf", json).ErrorId);
        }
    }

    [Theory]
    [InlineData(50, true)]
    [InlineData(51, false)]
    public static void Lists_of_values_count_as_the_two_messages_that_they_are(int depth, bool fits)
    {
        string json = new string('[', depth) + new string(']', depth);
        FormatOptions options = new() { Schema = TestMessages.Type("proto3.WellKnown").Schema };
        Google.Protobuf.WellKnownTypes.Value value = new();

        Exception? refused = Record.Exception(() => MessageFormats.Json.Read(
            new(System.Text.Encoding.UTF8.GetBytes(json)), value, options));

        Assert.Equal(fits, refused is null);
        if (!fits)
        {
            Assert.Equal("TooDeep", Assert.IsType<RpcException>(refused).ErrorId);
        }
    }

    [Fact]
    public static void Passes_over_what_it_does_not_know_when_told_so()
    {
        const string Json = """{"nope":[{"a":[1,2]}],"fEnum":"NOPE","fInt32":1}""";

        Assert.Equal("""{"fInt32":1}""", MessageFormats.Json.Again("proto3.Singular", Json, Lenient));
        Assert.Equal(
            """{"fEnum":["RED"]}""",
            MessageFormats.Json.Again("proto3.Repeated", """{"fEnum":["NOPE","RED"]}""", Lenient));
    }

    [Fact]
    public static void Writes_defaults_and_original_names_when_told_so()
    {
        DynamicMessage choice = MessageFormats.Json.Read("proto3.Choice", "{}");
        DynamicMessage repeated = MessageFormats.Json.Read("proto3.Unpacked", """{"fInt32":[1]}""");
        FormatOptions options = new() { IncludeDefaults = true, UseProtoNames = true };

        Assert.Equal("{}", MessageFormats.Json.ToText(choice, options));
        Assert.StartsWith(
            """{"f_double":[],"f_float":[],"f_int64":[],"f_uint64":[],"f_int32":[1],""",
            MessageFormats.Json.ToText(repeated, options));
    }

    [Fact]
    public static void Indents_when_told_so() => Assert.Equal(
        "{\n  \"text\": \"a\"\n}",
        MessageFormats.Json.Again("proto3.Leaf", "{\"text\":\"a\"}", new() { Indented = true }));

    [Fact]
    public static void Reads_every_cut_of_the_bytes_alike()
    {
        byte[] json = "{\"text\":\"é漢😀\",\"children\":[{},{\"text\":\"\\u00e9\"}]}"u8.ToArray();
        DynamicMessage whole = MessageFormats.Json.Read(TestMessages.Type("proto3.Leaf"), json);

        for (int cut = 1; cut < json.Length; cut++)
        {
            DynamicMessage read = MessageFormats.Json.Read(
                TestMessages.Type("proto3.Leaf"), Segments.Of(json.AsMemory(0, cut), json.AsMemory(cut)));
            Assert.Equal(whole, read);
        }
    }

    [Theory]
    [InlineData("t")]
    [InlineData("{\"text\":nul")]
    [InlineData("{\"children\":[f")]
    [InlineData("{\"text\":\"a\"")]
    [InlineData("{\"text\":tr  ")]
    public static void A_text_that_ends_too_early_is_an_error_of_the_message_however_it_arrives(string text)
    {
        byte[] json = Encoding.UTF8.GetBytes(text);
        for (int cut = 0; cut <= json.Length; cut++)
        {
            RpcException error = Assert.Throws<RpcException>(() => MessageFormats.Json.Read(
                TestMessages.Type("proto3.Leaf"), Segments.Of(json.AsMemory(0, cut), json.AsMemory(cut))));

            Assert.Equal("MalformedMessage", error.ErrorId);
        }
    }
}

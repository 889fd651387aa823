using Google.Protobuf;
using ProtoRpc.Tests.Messages;

namespace ProtoRpc.Tests.Formats;

public static class TextFormatTests
{
    private const string AnyText =
        "any {\n  [type.googleapis.com/everything.proto3.Leaf] {\n    text: \"a\"\n  }\n}\n";

    [Theory]
    [InlineData(
        "proto3.Singular", "f_int32: 0x1F; f_int64: -017, f_bool: t",
        "f_int64: -15\nf_int32: 31\nf_bool: true\n")]
    [InlineData(
        "proto3.Singular", "f_string: 'a' \"b\" # c\n '\\x41\\101\\n\\u00e9\\U0001F600'",
        "f_string: \"abAA\\n\\303\\251\\360\\237\\230\\200\"\n")]
    [InlineData("proto3.Singular", "f_double: 1.5e3 f_float: 2f", "f_double: 1500\nf_float: 2\n")]
    [InlineData("proto3.Singular", "f_double: -INF f_float: nan", "f_double: -inf\nf_float: nan\n")]
    [InlineData("proto3.Singular", "f_double: 1e20 f_float: 1e999", "f_double: 1e+20\nf_float: inf\n")]
    [InlineData("proto3.Singular", "f_enum: RED", "f_enum: RED\n")]
    [InlineData("proto3.Singular", "f_enum: -1", "f_enum: NEGATIVE\n")]
    [InlineData("proto3.Singular", "f_bytes: \"\\377\\000\"", "f_bytes: \"\\377\\000\"\n")]
    [InlineData("proto3.Singular", "f_message < text: 'a'; >", "f_message {\n  text: \"a\"\n}\n")]
    [InlineData("proto3.Singular", "f_message: { child {} }", "f_message {\n  child {\n  }\n}\n")]
    [InlineData(
        "proto3.Repeated", "f_int32: [1, 2] f_int32: 3 f_message: [{}, <>] f_string: []",
        "f_int32: 1\nf_int32: 2\nf_int32: 3\nf_message {\n}\nf_message {\n}\n")]
    [InlineData(
        "proto3.Maps", "string_bool { key: 'b' value: true } string_bool { key: 'a' }",
        "string_bool {\n  key: \"a\"\n  value: false\n}\nstring_bool {\n  key: \"b\"\n  value: true\n}\n")]
    [InlineData(
        "proto3.Maps", "string_bool { key: 'a' } string_bool { key: 'a' value: true }",
        "string_bool {\n  key: \"a\"\n  value: true\n}\n")]
    [InlineData("proto2.Singular", "FGroup { a: 1 }", "FGroup {\n  a: 1\n}\n")]
    [InlineData(
        "proto2.Extendable", "[everything.proto2.x_int32]: 7 [everything . proto2.x_string # why\n]: 'a'",
        "[everything.proto2.x_int32]: 7\n[everything.proto2.x_string]: \"a\"\n")]
    [InlineData("proto3.Reserved", "gone: { a: [1] b <> } away: 'x' 'y', left: 1", "left: 1\n")]
    [InlineData("proto3.Leaf", "# nothing", "")]
    public static void Reads_all_spellings_and_writes_one(string type, string text, string expected) =>
        Assert.Equal(expected, MessageFormats.Text.Again(type, text));

    [Fact]
    public static void Reads_an_any_both_ways_and_expands_it_when_told_so()
    {
        DynamicMessage message = MessageFormats.Text.Read("proto3.WellKnown", AnyText);

        string plain = MessageFormats.Text.ToText(message);

        Assert.StartsWith(
            "any {\n  type_url: \"type.googleapis.com/everything.proto3.Leaf\"\n  value: ", plain);
        Assert.Equal(message, MessageFormats.Text.Read("proto3.WellKnown", plain));
        Assert.Equal(AnyText, MessageFormats.Text.ToText(message, new() { ExpandAny = true }));
    }

    [Fact]
    public static void Prints_unknown_fields_by_number_as_protoc_does()
    {
        // 100: varint 5, 101: fixed32, 102: fixed64, 103: text, 104: a message with 1: 7, 105: a group.
        byte[] bytes = TestMessages.Bytes(
            "A006 05 AD06 01000000 B106 0200000000000000 BA06 02 FFFF C206 02 0807 CB06 0801 CC06");
        DynamicMessage message = TestMessages.Parse("proto3.Leaf", bytes);

        Assert.Equal(
            "100: 5\n101: 0x00000001\n102: 0x0000000000000002\n103: \"\\377\\377\"\n"
            + "104 {\n  1: 7\n}\n105 {\n  1: 1\n}\n",
            MessageFormats.Text.ToText(message));
        Assert.Equal("", MessageFormats.Text.ToText(message, new() { PrintUnknownFields = false }));
    }

    [Theory]
    [InlineData("proto3.Leaf", "text: 'a' text: 'b'", "InvalidFieldValue", "Leaf.text")]
    [InlineData("proto3.Leaf", "text 'a'", "MalformedMessage", "Leaf.text")]
    [InlineData("proto3.Leaf", "text: 'a", "MalformedMessage", "Leaf.text")]
    [InlineData("proto3.Leaf", "text: 'a\nb'", "MalformedMessage", "Leaf.text")]
    [InlineData("proto3.Leaf", "text: '\\ud800'", "MalformedMessage", "Leaf.text")]
    [InlineData("proto3.Leaf", "text: '\\q'", "MalformedMessage", "Leaf.text")]
    [InlineData("proto3.Leaf", "text: '\\xff'", "InvalidFieldValue", "Leaf.text")]
    [InlineData("proto3.Leaf", "text:", "InvalidFieldValue", "Leaf.text")]
    [InlineData("proto3.Leaf", "child {", "MalformedMessage", "Leaf.child")]
    [InlineData("proto3.Leaf", "child { >", "MalformedMessage", "Leaf.child")]
    [InlineData("proto3.Leaf", "}", "MalformedMessage", "Leaf")]
    [InlineData("proto3.Leaf", "text: 'a',,", "MalformedMessage", "Leaf")]
    [InlineData("proto3.Leaf", "nope: 1", "UnknownField", "Leaf.nope")]
    [InlineData("proto3.Leaf", "[no.such]: 1", "UnknownField", "Leaf.[no.such]")]
    [InlineData("proto3.Singular", "f_int32: 2147483648", "InvalidFieldValue", "Singular.f_int32")]
    [InlineData(
        "proto3.Singular", "f_uint64: 99999999999999999999999", "InvalidFieldValue", "Singular.f_uint64")]
    [InlineData(
        "proto3.Singular", "f_uint64: 07777777777777777777777777", "InvalidFieldValue", "Singular.f_uint64")]
    [InlineData("proto3.Singular", "f_uint64: -1", "InvalidFieldValue", "Singular.f_uint64")]
    [InlineData("proto3.Singular", "f_fixed32: -0", "InvalidFieldValue", "Singular.f_fixed32")]
    [InlineData("proto3.Singular", "f_int32: 1.0", "InvalidFieldValue", "Singular.f_int32")]
    [InlineData("proto3.Singular", "f_int32: 1x", "MalformedMessage", "Singular.f_int32")]
    [InlineData("proto3.Singular", "f_float: 0x1", "InvalidFieldValue", "Singular.f_float")]
    [InlineData("proto3.Singular", "f_bool: 2", "InvalidFieldValue", "Singular.f_bool")]
    [InlineData("proto3.Singular", "f_enum: NOPE", "InvalidFieldValue", "Singular.f_enum")]
    [InlineData("proto3.Singular", "f_int32: [1]", "InvalidFieldValue", "Singular.f_int32")]
    [InlineData("proto3.Repeated", "f_int32: [1,]", "InvalidFieldValue", "Repeated.f_int32")]
    [InlineData("proto3.Repeated", "f_int32: [1 2]", "MalformedMessage", "Repeated.f_int32")]
    [InlineData("proto3.Choice", "number: 1 word: 'a'", "OneofConflict", "Choice.word")]
    [InlineData("proto2.Required", "", "MissingRequiredField", null)]
    public static void Names_the_field_and_the_error(string type, string text, string errorId, string? path)
    {
        RpcException e = MessageFormats.Text.Refused(type, text);

        Assert.Equal(errorId, e.ErrorId);
        if (path is not null)
        {
            Assert.Equal(path, e.FieldPath);
            Assert.Contains("line 1, column ", e.Message);
        }
    }

    [Theory]
    [InlineData(100, true)]
    [InlineData(101, false)]
    [InlineData(100_000, false)]
    public static void Reads_messages_nested_as_deep_as_the_limit(int depth, bool fits)
    {
        string text = string.Concat(Enumerable.Repeat("child{", depth)) + new string('}', depth);

        if (fits)
        {
            Assert.NotNull(MessageFormats.Text.Read("proto3.Leaf", text));
        }
        else
        {
            Assert.Equal("TooDeep", MessageFormats.Text.Refused("proto3.Leaf", text).ErrorId);
        }
    }

    [Fact]
    public static void Passes_over_what_it_does_not_know_when_told_so() => Assert.Equal(
        "text: \"a\"\n",
        MessageFormats.Text.Again(
            "proto3.Leaf", "nope { a: [<>, -1.5] } 7: 'x' [a.b]: ID text: 'a'",
            new() { IgnoreUnknownFields = true }));

    [Theory]
    [InlineData("a] {}\n\u001B]0;x\u0007/everything.proto3.Leaf")]
    [InlineData("a b/everything.proto3.Leaf")]
    [InlineData("%zz/everything.proto3.Leaf")]
    [InlineData("\u00E9/everything.proto3.Leaf")]
    public static void An_any_whose_url_cannot_stand_in_brackets_is_not_expanded(string url)
    {
        RpcSchema schema = TestMessages.Type("proto3.WellKnown").Schema;
        Google.Protobuf.WellKnownTypes.Any any = new() { TypeUrl = url };
        DynamicMessage message =
            DynamicMessage.Parse(schema.GetMessage("google.protobuf.Any"), any.ToByteArray());

        string text = MessageFormats.Text.ToText(message, new FormatOptions { ExpandAny = true });

        Assert.StartsWith("type_url: \"", text, StringComparison.Ordinal);
        Assert.DoesNotContain('\u001B', text);
        Assert.Equal(message, MessageFormats.Text.Read(message.Type, text));
    }
}

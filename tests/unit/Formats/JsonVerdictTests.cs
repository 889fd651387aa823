using System.Text;
using ProtoRpc.Tests.Messages;

namespace ProtoRpc.Tests.Formats;

/// <summary>What is a message and what is not, where readers of ProtoJSON differ. tests/fuzz compares ours
/// with Google.Protobuf; these are cases that it found.</summary>
public static class JsonVerdictTests
{
    private static readonly FormatOptions Lenient = new() { IgnoreUnknownFields = true };

    public static TheoryData<string> NoNumbers =>
    [
        "01", "-01", "00", "+1", " 1", "1 ", "1.", ".5", "-.5", "1\\u0000", "1e5\\u0000", "1e", "1e+", "-",
        "", "1e5x",
    ];

    [Theory]
    [MemberData(nameof(NoNumbers))]
    public static void A_number_in_quotes_is_written_as_one_without(string number)
    {
        Assert.Equal(RpcErrorIds.InvalidFieldValue, Refusal("Singular", $$"""{"fInt32":"{{number}}"}"""));
        Assert.Equal(RpcErrorIds.InvalidFieldValue, Refusal("Singular", $$"""{"fUint64":"{{number}}"}"""));
        Assert.Equal(RpcErrorIds.InvalidFieldValue, Refusal("Singular", $$"""{"fDouble":"{{number}}"}"""));
        Assert.Equal(RpcErrorIds.InvalidFieldValue, Refusal("Singular", $$"""{"fFloat":"{{number}}"}"""));
        Assert.Equal(
            RpcErrorIds.InvalidFieldValue, Refusal("Maps", $$$"""{"sint32Uint32":{"{{{number}}}":1}}"""));
    }

    [Theory]
    [InlineData("1e2", 100)]
    [InlineData("\"1E+2\"", 100)]
    [InlineData("\"-0\"", 0)]
    [InlineData("\"\\u0031\"", 1)]
    [InlineData("100e-2", 1)]
    [InlineData("0e999999999999", 0)]
    [InlineData("0e-999999999999", 0)]
    [InlineData("1.00000000000000000000000000000000000000000000000000", 1)]
    [InlineData("100000000000000000000000000000000000000000000000000e-50", 1)]
    [InlineData("-0.00000000000000000000000000000000000000000000000001e50", -1)]
    public static void A_number_without_a_fraction_is_whole_in_every_spelling(string number, int value) =>
        Assert.Equal(value, Read("Singular", $$"""{"fInt32":{{number}}}""")["fInt32"]);

    [Theory]
    [InlineData("1e-1")]
    [InlineData("1.00000000000000000000000000000000000000000000000001")]
    [InlineData("1e99999999999999999999999999")]
    [InlineData("1e-99999999999999999999999999")]
    [InlineData("2147483648")]
    [InlineData("214748364700000000000000000000000000000000000000000000e-40")]
    public static void A_fraction_or_too_large_a_number_is_not_whole(string number) => Assert.Equal(
        RpcErrorIds.InvalidFieldValue, Refusal("Singular", $$"""{"fInt32":{{number}}}"""));

    [Fact]
    public static void A_fraction_is_no_number_of_an_enum() => Assert.Equal(
        RpcErrorIds.InvalidFieldValue,
        Refusal("Singular", """{"fEnum":1.00000000000000000000000001}"""));

    [Theory]
    [InlineData("Y Q==")]
    [InlineData("YQ==\\n")]
    [InlineData("YQ==    ")]
    [InlineData("    ")]
    [InlineData("YWJj\\tYWJj")]
    public static void Base64_has_no_spaces(string text) => Assert.Equal(
        RpcErrorIds.InvalidFieldValue, Refusal("Singular", $$"""{"fBytes":"{{text}}"}"""));

    [Theory]
    [InlineData("YQ")]
    [InlineData("YQ==")]
    [InlineData("\\u0059Q==")]
    public static void Base64_needs_no_padding(string text) => Assert.Equal(
        "a"u8.ToArray(), Read("Singular", $$"""{"fBytes":"{{text}}"}""")["fBytes"]);

    [Fact]
    public static void The_url_of_a_type_may_be_a_slash_and_its_name() => Assert.Equal(
        """{"any":{"@type":"/everything.proto3.Leaf","text":"in"}}""",
        MessageFormats.Json.Again(
            "proto3.WellKnown", """{"any":{"@type":"/everything.proto3.Leaf","text":"in"}}"""));

    [Theory]
    [InlineData("not_a_url", "AQI=")]
    [InlineData("everything.proto3.Leaf", "")]
    [InlineData("", "AQI=")]
    [InlineData("ends.with/", "AQI=")]
    [InlineData("/", "")]
    public static void An_any_whose_url_names_no_type_is_its_two_fields(string url, string base64)
    {
        DynamicMessage message = new(TestMessages.Type("proto3.WellKnown"));
        DynamicMessage any = new(message.Type.Fields.Single(field => field.Name == "any").MessageType!);
        any["type_url"] = url;
        any["value"] = Convert.FromBase64String(base64);
        message["any"] = any;

        byte[] json = MessageFormats.Json.ToArray(message);
        byte[] named = MessageFormats.Json.ToArray(message, new FormatOptions { UseProtoNames = true });

        Assert.Equal(
            $$$"""{"any":{"typeUrl":"{{{url}}}","value":"{{{base64}}}"}}""", Encoding.UTF8.GetString(json));
        Assert.Contains("\"type_url\"", Encoding.UTF8.GetString(named), StringComparison.Ordinal);
        Assert.Equal(message, MessageFormats.Json.Read(message.Type, json));
        Assert.Equal(message, MessageFormats.Json.Read(message.Type, named));
    }

    [Theory]
    [InlineData("""{"@type":"","value":""}""")]
    [InlineData("""{"@type":"not_a_url","value":""}""")]
    [InlineData("""{"@type":"not_a_url","typeUrl":"a/b","value":""}""")]
    [InlineData("""{"value":"AQI="}""")]
    [InlineData("""{"typeUrl":"a","type_url":"b"}""")]
    [InlineData("""{"typeUrl":"a","x":1}""")]
    [InlineData("""{"typeUrl":1}""")]
    public static void Other_anys_without_a_type_are_refused(string any) =>
        Assert.NotNull(Refusal("WellKnown", $$$"""{"any":{{{any}}}}"""));

    [Theory]
    [InlineData("""{"@type":"a/google.protobuf.Duration","value":"1s","value":"1s"}""")]
    [InlineData("""{"@type":"a/google.protobuf.Empty","@type":"a/google.protobuf.Empty","value":{}}""")]
    [InlineData("""{"@type":"a/everything.proto3.Leaf","@type":"a/everything.proto3.Leaf"}""")]
    public static void A_key_of_an_any_occurs_once_also_where_unknown_keys_are_passed_over(string any)
    {
        Assert.Equal(RpcErrorIds.InvalidFieldValue, Refusal("WellKnown", $$$"""{"any":{{{any}}}}"""));
        Assert.Equal(
            RpcErrorIds.InvalidFieldValue, Refusal("WellKnown", $$$"""{"any":{{{any}}}}""", Lenient));
    }

    [Theory]
    [InlineData("""{"a":"NOBODY","a":"RED"}""")]
    [InlineData("""{"a":"RED","a":"NOBODY"}""")]
    [InlineData("""{"a":"NOBODY","a":"NOBODY"}""")]
    public static void A_key_of_a_map_occurs_once_also_where_its_value_is_passed_over(string map) =>
        Assert.Equal(
            RpcErrorIds.InvalidFieldValue, Refusal("Maps", $$"""{"stringEnum":{{map}}}""", Lenient));

    [Fact]
    public static void A_wrapper_of_a_generated_class_keeps_its_minus_zero()
    {
        Everything.Proto3.WellKnown message = new() { DoubleValue = -0.0, FloatValue = -0f };

        Assert.Equal("""{"doubleValue":-0.0,"floatValue":-0.0}""", MessageFormats.Json.ToText(message));
    }

    private static DynamicMessage Read(string type, string json, FormatOptions? options = null) =>
        MessageFormats.Json.Read(
            TestMessages.Type($"proto3.{type}"), Encoding.UTF8.GetBytes(json).AsMemory(), options);

    private static string Refusal(string type, string json, FormatOptions? options = null) =>
        Assert.Throws<RpcException>(() => Read(type, json, options)).ErrorId;
}

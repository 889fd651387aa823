using System.Text;

namespace ProtoRpc.Tests.Formats;

/// <summary>Errors quote what is wrong, which may be as long as the whole text.</summary>
public static class LongTokenTests
{
    // Stands for a token of 100,000 characters.
    private const string Long = "LONG";
    private const string Any = "{\"any\": {\"@type\": \"type.googleapis.com/google.protobuf.Duration\", ";

    [Theory]
    [InlineData("proto3.Singular", "'LONG': 1")]
    [InlineData("proto3.Singular", "LONG: 1")]
    [InlineData("proto3.Singular", "f_int32 'LONG'")]
    [InlineData("proto3.Singular", "f_int32: 'LONG'")]
    [InlineData("proto3.Singular", "f_string: LONG")]
    [InlineData("proto3.Singular", "f_enum: LONG")]
    [InlineData("proto3.Singular", "f_message: LONG")]
    [InlineData("proto3.Repeated", "f_int32: [1 LONG]")]
    [InlineData("proto3.Singular", "[LONG]: 1")]
    [InlineData("proto3.WellKnown", "any { [a/LONG] {} }")]
    public static void Of_the_text_format_they_are_cut(string type, string text) =>
        AssertShort(MessageFormats.Text.Refused(type, text.Replace(Long, Token())));

    [Theory]
    [InlineData("proto3.Singular", "{\"LONG\": 1}")]
    [InlineData("proto3.Singular", "{\"f_int32\": \"LONG\"}")]
    [InlineData("proto3.Singular", "{\"f_enum\": \"LONG\"}")]
    [InlineData("proto3.Singular", "{\"f_string\": LONG}")]
    [InlineData("proto3.Maps", "{\"string_bool\": {\"LONG\": 1}}")]
    [InlineData("proto3.WellKnown", "{\"any\": {\"@type\": \"LONG\"}}")]
    [InlineData("proto3.WellKnown", Any + "\"LONG\": 1}}")]
    public static void Of_json_they_are_cut(string type, string text) =>
        AssertShort(MessageFormats.Json.Refused(type, text.Replace(Long, Token())));

    [Theory]
    [InlineData("proto3.Singular", "<m><LONG/></m>")]
    [InlineData("proto3.Singular", "<m>LONG</m>")]
    [InlineData("proto3.Singular", "<m><f_int32>LONG</f_int32></m>")]
    [InlineData("proto3.Singular", "<m><f_int32><LONG/></f_int32></m>")]
    [InlineData("proto3.Singular", "<m LONG='1'/>")]
    [InlineData("proto3.Singular", "<m><f_message><LONG></f_message></m>")]
    [InlineData("proto3.Maps", "<m><string_bool><LONG/></string_bool></m>")]
    public static void Of_xml_they_are_cut(string type, string text) =>
        AssertShort(MessageFormats.Xml.Refused(type, text.Replace(Long, Token())));

    [Theory]
    [InlineData("proto3.Singular", "LONG=1")]
    [InlineData("proto3.Singular", "f_int32=LONG")]
    [InlineData("proto3.Singular", "f_enum=LONG")]
    public static void Of_forms_they_are_cut(string type, string text) =>
        AssertShort(MessageFormats.Form.Refused(type, text.Replace(Long, Token())));

    private static string Token() => new StringBuilder().Append('x', 100_000).ToString();

    private static void AssertShort(RpcException e)
    {
        Assert.Equal(RpcStatusCode.InvalidArgument, e.Code);
        Assert.InRange(e.Message.Length, 1, 2_000);
        Assert.InRange(e.FieldPath?.Length ?? 0, 0, 2_000);
    }
}

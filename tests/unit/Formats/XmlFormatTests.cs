using System.Diagnostics;
using System.Globalization;
using System.Text;
using ProtoRpc.Tests.Messages;

namespace ProtoRpc.Tests.Formats;

public static class XmlFormatTests
{
    private static readonly FormatOptions Nested = new() { NestedRepeated = true };

    [Fact]
    public static void Writes_the_reply_of_the_search_service_as_the_original_did()
    {
        DynamicMessage reply = MessageFormats.Json.Read(
            FormatCases.Search("SearchResponse"), """{"result":[{"url":"http://example.com"}]}""");

        Assert.Equal(
            "<root><result><url>http://example.com</url></result></root>", MessageFormats.Xml.ToText(reply));
        Assert.Equal(
            "<root>\n  <result>\n    <url>http://example.com</url>\n  </result>\n</root>",
            MessageFormats.Xml.ToText(reply, new() { Indented = true }));
    }

    [Fact]
    public static void Writes_an_error_as_the_original_did()
    {
        DynamicMessage error = new(FormatCases.Search("ErrorResult"));
        error.Set("error_text", "Method 'A' not found.");

        Assert.Equal(
            "<root><error_text>Method 'A' not found.</error_text></root>", MessageFormats.Xml.ToText(error));
        Assert.StartsWith("<reply>", MessageFormats.Xml.ToText(error, new() { XmlRoot = "reply" }));
    }

    [Theory]
    [InlineData(
        "proto3.Singular", "<root><f_int32>-5</f_int32><f_string>a&lt;b&amp; \"c\"</f_string></root>")]
    [InlineData(
        "proto3.Singular",
        "<root><f_double>NaN</f_double><f_float>-Infinity</f_float><f_bytes>/+8=</f_bytes></root>")]
    [InlineData(
        "proto3.Singular", "<root><f_bool>true</f_bool><f_string>  two\n lines&#xD;\n </f_string></root>")]
    [InlineData("proto3.Optional", "<root><f_string></f_string><f_message /><f_enum>RED</f_enum></root>")]
    [InlineData(
        "proto3.Repeated", "<root><f_int32>1</f_int32><f_int32>2</f_int32><f_string></f_string></root>")]
    [InlineData("proto3.Maps", "<root><string_bool><key>a</key><value>true</value></string_bool></root>")]
    [InlineData("proto3.WellKnown", "<root><duration>1.500s</duration><int32_value>0</int32_value></root>")]
    [InlineData("proto3.WellKnown", "<root><value><string_value>x</string_value></value></root>")]
    [InlineData("proto2.Extendable", "<root><everything.proto2.x_int32>7</everything.proto2.x_int32></root>")]
    public static void Writes_what_it_has_read(string type, string xml) => Assert.Equal(
        xml.Replace("<f_string></f_string>", "<f_string />"),
        MessageFormats.Xml.Again(type, xml).Replace("<f_string></f_string>", "<f_string />"));

    [Theory]
    [InlineData(" a{0}=''")]
    [InlineData(" xmlns:a{0}='u'")]
    [InlineData(" xsi:a{0}=''")]
    [InlineData(" same=''")]
    [InlineData(" xsi:type=''")]
    public static void An_element_with_very_many_attributes_is_refused_early(string attribute)
    {
        StringBuilder xml = new("<root xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'><f_int32");
        for (int i = 0; i < 300_000; i++)
        {
            xml.AppendFormat(CultureInfo.InvariantCulture, attribute, i);
        }

        byte[] bytes = Encoding.UTF8.GetBytes(xml.Append(">1</f_int32></root>").ToString());
        Stopwatch time = Stopwatch.StartNew();

        RpcException error = Assert.Throws<RpcException>(() => MessageFormats.Xml.Read(
            TestMessages.Type("proto3.Singular"), bytes, new FormatOptions { IgnoreUnknownFields = true }));

        Assert.Contains("too many attributes", error.Message, StringComparison.Ordinal);

        // Reading all of them takes 10 seconds and more.
        Assert.InRange(time.Elapsed, TimeSpan.Zero, TimeSpan.FromSeconds(2));
    }

    [Fact]
    public static void Many_elements_may_have_some_attributes_each()
    {
        string some = string.Concat(Enumerable.Range(0, 500).Select(i => $" a{i}='{i}'"));
        string fields = string.Concat(Enumerable.Repeat($"<f_int32{some}>7</f_int32>", 20));
        string xml = $"<root{some}>{fields}</root>";

        DynamicMessage read = MessageFormats.Xml.Read(
            TestMessages.Type("proto3.Repeated"), Encoding.UTF8.GetBytes(xml),
            new FormatOptions { IgnoreUnknownFields = true });

        Assert.Equal(20, ((System.Collections.ICollection)read["f_int32"]!).Count);
    }

    [Theory]
    [InlineData("proto3.Repeated", "<root><f_int32><item>1</item><item>2</item></f_int32></root>")]
    [InlineData(
        "proto3.Maps",
        "<root><string_bool><item><key>a</key><value>true</value></item></string_bool></root>")]
    public static void Writes_lists_within_one_element_when_told_so(string type, string xml) =>
        Assert.Equal(xml, MessageFormats.Xml.Again(type, xml, Nested));

    [Theory]
    [InlineData("<any><text>a</text></any>", "<root><text>a</text></root>")]
    [InlineData(
        "<?xml version='1.0'?><!-- c --><r xmlns='urn:x'>\n <text><![CDATA[<a>]]></text>\n</r>",
        "<root><text>&lt;a&gt;</text></root>")]
    [InlineData("<root><text type=\"string\">a</text></root>", "<root><text>a</text></root>")]
    [InlineData("<root/>", "<root />")]
    public static void Reads_what_others_write(string xml, string expected) =>
        Assert.Equal(expected, MessageFormats.Xml.Again("proto3.Leaf", xml));

    [Theory]
    [InlineData("proto3.Leaf", "<root><nope/></root>", "UnknownField", "Leaf.nope")]
    [InlineData("proto3.Leaf", "<root><text>a</text><text>b</text></root>", "InvalidFieldValue", "Leaf.text")]
    [InlineData("proto3.Leaf", "<root><text><b/></text></root>", "InvalidFieldValue", "Leaf.text")]
    [InlineData("proto3.Leaf", "<root>words</root>", "InvalidFieldValue", "Leaf")]
    [InlineData("proto3.Leaf", "<root nope='1'/>", "UnknownField", "Leaf")]
    [InlineData("proto3.Leaf", "<root><text>a</root>", "MalformedMessage", "Leaf.text")]
    [InlineData("proto3.Leaf", "<root/><root/>", "MalformedMessage", "Leaf")]
    [InlineData("proto3.Leaf", "", "MalformedMessage", "Leaf")]
    [InlineData("proto3.Leaf", "<root>&nope;</root>", "MalformedMessage", "Leaf")]
    [InlineData(
        "proto3.Singular", "<root><f_int32>x</f_int32></root>", "InvalidFieldValue", "Singular.f_int32")]
    [InlineData("proto3.Singular", "<root><f_int32/></root>", "InvalidFieldValue", "Singular.f_int32")]
    [InlineData(
        "proto3.Singular", "<root><f_bytes>*</f_bytes></root>", "InvalidFieldValue", "Singular.f_bytes")]
    [InlineData(
        "proto3.Choice", "<root><number>1</number><word>a</word></root>", "OneofConflict", "Choice.word")]
    [InlineData(
        "proto3.Maps", "<root><string_bool><key>a</key><key>b</key></string_bool></root>",
        "InvalidFieldValue", "Maps.string_bool")]
    public static void Names_the_field_and_the_error(string type, string xml, string errorId, string path)
    {
        RpcException e = MessageFormats.Xml.Refused(type, xml);

        Assert.Equal(errorId, e.ErrorId);
        Assert.Equal(path, e.FieldPath);
        Assert.Contains("line ", e.Message);
    }

    [Theory]
    [InlineData("C5")]
    [InlineData("FF FE 00")]
    [InlineData("3C 3F 78 6D 6C FF")]
    public static void Refuses_first_bytes_of_no_encoding(string hex)
    {
        byte[] bytes = Convert.FromHexString(hex.Replace(" ", "", StringComparison.Ordinal));

        RpcException e = Assert.Throws<RpcException>(
            () => MessageFormats.Xml.Read(TestMessages.Type("proto3.Leaf"), bytes.AsMemory()));

        Assert.Equal(("MalformedMessage", "Leaf"), (e.ErrorId, e.FieldPath));
        Assert.Contains("line 1", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void Refuses_a_bomb_of_entities()
    {
        StringBuilder bomb = new("<!DOCTYPE root [<!ENTITY e0 \"x\">");
        for (int i = 1; i < 30; i++)
        {
            bomb.Append($"<!ENTITY e{i} \"&e{i - 1};&e{i - 1};\">");
        }
        bomb.Append("]><root><text>&e29;</text></root>");

        Assert.Equal("MalformedMessage", MessageFormats.Xml.Refused("proto3.Leaf", bomb.ToString()).ErrorId);
    }

    [Fact]
    public static void Reads_no_other_file()
    {
        const string Xml =
            "<!DOCTYPE root [<!ENTITY f SYSTEM \"file:///etc/passwd\">]><root><text>&f;</text></root>";

        RpcException e = MessageFormats.Xml.Refused("proto3.Leaf", Xml);

        Assert.Equal("MalformedMessage", e.ErrorId);
        Assert.DoesNotContain("root:", e.Message);
    }

    [Theory]
    [InlineData(100, true)]
    [InlineData(101, false)]
    [InlineData(100_000, false)]
    public static void Reads_messages_nested_as_deep_as_the_limit(int depth, bool fits)
    {
        string xml = "<root>" + string.Concat(Enumerable.Repeat("<child>", depth)) +
            string.Concat(Enumerable.Repeat("</child>", depth)) + "</root>";

        if (fits)
        {
            Assert.Equal(
                xml.Replace("<child></child>", "<child />"), MessageFormats.Xml.Again("proto3.Leaf", xml));
        }
        else
        {
            Assert.Equal("TooDeep", MessageFormats.Xml.Refused("proto3.Leaf", xml).ErrorId);
        }
    }

    [Fact]
    public static void Refuses_bytes_that_are_not_utf8()
    {
        byte[] xml = [.. "<root><text>"u8, 0xC3, 0x28, .. "</text></root>"u8];

        Assert.Equal("MalformedMessage", MessageFormats.Xml.Refused("proto3.Leaf", xml).ErrorId);
    }

    [Fact]
    public static void Names_the_field_whose_text_xml_cannot_hold()
    {
        DynamicMessage message = new(TestMessages.Type("proto3.Leaf"));
        message.Set("text", "a\u0001b");

        RpcException e = Assert.Throws<RpcException>(() => MessageFormats.Xml.ToText(message));

        Assert.Equal("Leaf.text", e.FieldPath);
        Assert.Equal("InvalidFieldValue", e.ErrorId);
    }

    [Fact]
    public static void Passes_over_what_it_does_not_know_when_told_so() => Assert.Equal(
        "<root><text>a</text></root>",
        MessageFormats.Xml.Again(
            "proto3.Leaf", "<root a='1'><nope><x>1</x><x/></nope><no/><text>a</text></root>",
            new() { IgnoreUnknownFields = true }));
}

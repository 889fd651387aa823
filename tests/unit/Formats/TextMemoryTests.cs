namespace ProtoRpc.Tests.Formats;

/// <summary>What a read of hostile XML, forms and protobuf text allocates.</summary>
public static class TextMemoryTests
{
    // Type, before, piece (# is its number), after, and the most bytes for a byte of text.
    public static TheoryData<string, string, string, string, int> Xml => new()
    {
        { "Singular", "", "<a>", "", 96 },
        { "Singular", "<r>", "<x#/>", "</r>", 24 },
        { "Singular", "<r>", "<f_int32>1</f_int32>", "</r>", 1 },
        { "Singular", "<r><f_int32>", "1", "</f_int32></r>", 8 },
        { "Singular", "<r><f_int32>1e-", "1", "</f_int32></r>", 8 },
        { "Singular", "<r><f_string>", "&amp;", "</f_string></r>", 4 },
        { "Singular", "<r><f_string>", "<![CDATA[x]]>", "</f_string></r>", 4 },
        { "Singular", "<r><f_bytes>", "A", "</f_bytes></r>", 12 },
        { "Singular", "<r ", "a#='' ", "/>", 48 },
        { "Singular", "<r>", "<!---->", "</r>", 1 },
        { "Repeated", "<r>", "<f_int32>1</f_int32>", "</r>", 4 },
        { "Repeated", "<r>", "<f_string/>", "</r>", 4 },
        { "Maps", "<r>", "<sint32_uint32><key>#</key><value>1</value></sint32_uint32>", "</r>", 4 },
        { "Maps", "<r>", "<sint32_uint32/>", "</r>", 1 },
        { "WellKnown", "<r><field_mask>", "aB,", "c</field_mask></r>", 48 },
        { "WellKnown", "<r><duration>1.", "0", "s</duration></r>", 8 },
    };

    public static TheoryData<string, string, string, string, int> Form => new()
    {
        { "Singular", "", "&", "", 1 },
        { "Singular", "", "x#=1&", "", 12 },
        { "Singular", "", "f_int32=&", "", 16 },
        { "Singular", "", "f_int32=1&", "", 1 },
        { "Singular", "f_int32=1", "0", "", 4 },
        { "Singular", "f_int32=0.", "0", "", 4 },
        { "Singular", "f_int32=1e-", "1", "", 4 },
        { "Singular", "f_double=0.", "1", "", 4 },
        { "Singular", "f_string=", "%41", "", 4 },
        { "Singular", "f_bytes=", "A", "", 8 },
        { "Singular", "f_bytes=", "%20", "", 4 },
        { "Repeated", "", "f_int32=1&", "", 24 },
        { "Repeated", "", "f_string=&", "", 16 },
        { "WellKnown", "field_mask=", "aB,", "c", 48 },
        { "WellKnown", "timestamp=2024-02-29T12:00:00.", "0", "Z", 4 },
    };

    public static TheoryData<string, string, string, string, int> Text => new()
    {
        { "Singular", "", "a {", "", 4 },
        { "Singular", "a: ", "[", "", 8 },
        { "Singular", "", "# x\n", "", 12 },
        { "Singular", "", "x#: 1 ", "", 12 },
        { "Singular", "", "9000: 1 ", "", 12 },
        { "Singular", "", "f_int32: 1 ", "", 1 },
        { "Singular", "f_int32: 1", "0", "", 4 },
        { "Singular", "f_double: 0.", "1", "", 1 },
        { "Singular", "f_string: ", "'a' ", "", 4 },
        { "Singular", "f_string: '", "\\101", "'", 24 },
        { "Singular", "f_bytes: '", "\\xFF", "'", 24 },
        { "Singular", "f_string: '", "a", "", 1 },
        { "Repeated", "", "f_int32: 1 ", "", 8 },
        { "Repeated", "f_int32: [", "1,", "1]", 8 },
        { "Repeated", "", "f_string: '' ", "", 12 },
        { "Maps", "", "sint32_uint32 { key: # value: 1 } ", "", 12 },
        { "Maps", "", "sint32_uint32 { } ", "", 12 },
        { "WellKnown", "list_value { ", "values { null_value: NULL_VALUE } ", "}", 12 },
    };

    [Theory]
    [MemberData(nameof(Xml))]
    public static void Twice_the_XML_takes_twice_the_memory(
        string type, string before, string piece, string after, int most) =>
        ReadMemory.RequireLinear(MessageFormats.Xml, type, (before, piece, after), most);

    [Theory]
    [MemberData(nameof(Form))]
    public static void Twice_the_form_takes_twice_the_memory(
        string type, string before, string piece, string after, int most) =>
        ReadMemory.RequireLinear(MessageFormats.Form, type, (before, piece, after), most);

    [Theory]
    [MemberData(nameof(Text))]
    public static void Twice_the_text_takes_twice_the_memory(
        string type, string before, string piece, string after, int most) =>
        ReadMemory.RequireLinear(MessageFormats.Text, type, (before, piece, after), most);
}

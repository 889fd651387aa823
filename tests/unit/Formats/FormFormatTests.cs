namespace ProtoRpc.Tests.Formats;

public static class FormFormatTests
{
    [Fact]
    public static void Reads_the_query_string_of_the_search_service()
    {
        DynamicMessage request = MessageFormats.Form.Read(
            FormatCases.Search("SearchRequest"), "?query=a+b%26c%C3%A9&page_number=2&result_per_page=");

        Assert.Equal(
            """{"query":"a b&cé","pageNumber":2}""", MessageFormats.Json.ToText(request));
        Assert.Equal("query=a+b%26c%C3%A9&page_number=2", MessageFormats.Form.ToText(request));
    }

    [Theory]
    [InlineData(
        "proto3.Repeated", "f_int32=1&f_int32=2&f_string=&f_string=%3D",
        "f_int32=1&f_int32=2&f_string=&f_string=%3D")]
    [InlineData(
        "proto3.Singular", "fBool=on&f_enum=RED&f_bytes=_-8", "f_bool=true&f_bytes=%2F%2B8%3D&f_enum=RED")]
    [InlineData(
        "proto3.WellKnown", "duration=1.5s&int32_value=3&timestamp=2024-02-29T00%3A00%3A00Z",
        "duration=1.500s&timestamp=2024-02-29T00%3A00%3A00Z&int32_value=3")]
    [InlineData("proto3.Singular", "&&", "")]
    [InlineData("proto3.Optional", "f_string", "f_string=")]
    [InlineData(
        "proto3.WellKnown", "string_value=&bytes_value=&field_mask=&int32_value=&duration=",
        "field_mask=&string_value=&bytes_value=")]
    public static void Writes_what_it_has_read(string type, string form, string expected) =>
        Assert.Equal(expected, MessageFormats.Form.Again(type, form));

    [Theory]
    [InlineData("proto3.Singular", "f_int32=1&f_int32=2", "InvalidFieldValue", "Singular.f_int32")]
    [InlineData("proto3.Singular", "f_int32=x", "InvalidFieldValue", "Singular.f_int32")]
    [InlineData("proto3.Singular", "f_message=x", "InvalidFieldValue", "Singular.f_message")]
    [InlineData("proto3.Maps", "string_bool=x", "InvalidFieldValue", "Maps.string_bool")]
    [InlineData("proto3.Singular", "nope=1", "UnknownField", "Singular.nope")]
    [InlineData("proto3.Singular", "f_string=%C3%28", "MalformedMessage", "Singular.f_string")]
    [InlineData("proto3.Singular", "f_string=%4", "MalformedMessage", "Singular.f_string")]
    [InlineData("proto3.Singular", "f_string=%zz", "MalformedMessage", "Singular.f_string")]
    [InlineData("proto3.Choice", "number=1&word=a", "OneofConflict", "Choice.word")]
    public static void Names_the_field_and_the_error(string type, string form, string errorId, string path)
    {
        RpcException e = MessageFormats.Form.Refused(type, form);

        Assert.Equal(errorId, e.ErrorId);
        Assert.Equal(path, e.FieldPath);
        Assert.Contains("byte ", e.Message);
    }

    [Fact]
    public static void Says_that_nested_messages_need_another_format()
    {
        DynamicMessage message = MessageFormats.Json.Read("proto3.Leaf", """{"child":{}}""");

        RpcException e = Assert.Throws<RpcException>(() => MessageFormats.Form.ToText(message));

        Assert.Equal("Leaf.child", e.FieldPath);
        Assert.Contains("Use JSON", e.Message);
    }

    [Fact]
    public static void Refuses_more_pairs_than_the_limit()
    {
        string form = string.Join('&', Enumerable.Repeat("f_int32=1", 1025));

        Assert.Equal("MalformedMessage", MessageFormats.Form.Refused("proto3.Repeated", form).ErrorId);
    }
}

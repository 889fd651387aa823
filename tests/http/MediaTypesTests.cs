using ProtoRpc.AspNetCore.Http;

namespace ProtoRpc.Http.Tests;

public static class MediaTypesTests
{
    [Theory]
    [InlineData("application/json", "Json")]
    [InlineData("Application/JSON; charset=UTF-8", "Json")]
    [InlineData("application/json;charset=\"utf-8\"", "Json")]
    [InlineData("application/x-protobuf", "Binary")]
    [InlineData("application/proto", "Binary")]
    [InlineData("application/vnd.google.protobuf", "Binary")]
    [InlineData("text/xml", "Xml")]
    [InlineData("application/xml; charset=utf-8", "Xml")]
    [InlineData("application/x-www-form-urlencoded", "Form")]
    [InlineData("application/json; charset=utf-16", null)]
    [InlineData("text/html", null)]
    [InlineData("json", null)]
    [InlineData("application/json, text/xml", null)]
    [InlineData("", null)]
    [InlineData(null, null)]
    public static void The_content_type_picks_the_reader(string? contentType, string? format) =>
        Assert.Equal(format, MediaTypes.ReaderOf(contentType)?.Name);

    [Theory]
    [InlineData("application/json", "application/json; charset=utf-8")]
    [InlineData("application/xml", "application/xml")]
    [InlineData("application/json;q=0.5, text/xml;q=0.8", "text/xml; charset=utf-8")]
    [InlineData("application/json;q=0.5, application/proto;q=0.6, */*;q=0.1", "application/proto")]
    [InlineData("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/xml")]
    [InlineData("*/*", "text/xml; charset=utf-8")]
    [InlineData("text/*", "text/xml; charset=utf-8")]
    [InlineData("application/*, application/xml;q=0", "application/json; charset=utf-8")]
    [InlineData("application/x-www-form-urlencoded", "application/x-www-form-urlencoded")]
    [InlineData("text/html", null)]
    [InlineData("application/json;q=0", null)]
    [InlineData("no media type", null)]
    public static void Accept_with_its_quality_values_picks_the_writer(string accept, string? mediaType) =>
        Assert.Equal(mediaType, MediaTypes.WriterOf(accept, request: null)?.MediaType);

    [Theory]
    [InlineData("Json")]
    [InlineData("Binary")]
    [InlineData("Xml")]
    public static void A_client_that_takes_anything_gets_the_format_that_it_sent(string name)
    {
        MessageFormats.TryFind(name, out MessageFormat? sent);

        Assert.Same(sent, MediaTypes.WriterOf("*/*", sent)?.Format);
        Assert.Same(sent, MediaTypes.WriterOf(default, sent)?.Format);
    }

    [Theory]
    [InlineData("application/proto", null, "application/proto")]
    [InlineData("application/proto", "*/*", "application/proto")]
    [InlineData("Application/Proto; x=y", "application/*, text/xml;q=0.5", "application/proto")]
    [InlineData("application/proto", "application/protobuf", "application/protobuf")]
    [InlineData("application/proto", "application/json, */*;q=0.1", "application/json; charset=utf-8")]
    [InlineData("application/x-protobuf", null, "application/x-protobuf")]
    [InlineData("application/json", "*/*", "application/json; charset=utf-8")]
    [InlineData("text/json", null, "text/json")]
    [InlineData("application/xml", "*/*", "application/xml")]
    [InlineData("text/xml; charset=\"utf-8\"", null, "text/xml; charset=utf-8")]
    [InlineData("application/x-www-form-urlencoded", null, "text/xml; charset=utf-8")]
    public static void The_reply_has_the_name_of_the_format_that_the_request_used(
        string sent, string? accept, string reply) =>
        Assert.Equal(reply, MediaTypes.WriterOf(accept, MediaTypes.ReaderOf(sent), sent)?.MediaType);

    [Fact]
    public static void A_form_is_answered_with_xml_unless_a_form_is_asked_for() =>
        Assert.Same(MessageFormats.Xml, MediaTypes.WriterOf("*/*", MessageFormats.Form)?.Format);

    [Fact]
    public static void More_ranges_than_anybody_needs_are_not_looked_at() =>
        Assert.Null(MediaTypes.WriterOf(string.Join(", ", Enumerable.Repeat("text/xml;q=0.1", 65)), null));
}

using ProtoRpc.Tool;

namespace ProtoRpc.Tests.Tool;

public static class FieldAssignmentsTests
{
    private static readonly RpcMessageInfo Type = RpcSchema.FromDescriptors(
        Google.Protobuf.WellKnownTypes.Api.Descriptor.File).GetMessage("google.protobuf.Api");

    [Theory]
    [InlineData("""{"name":"a","version":"{x"}""", "name=a", "version={x")]
    [InlineData("""{"methods":[{"name":"m","requestStreaming":true}]}""",
        "methods={\"name\":\"m\",\"requestStreaming\":true}")]
    [InlineData("""{"methods":[{"name":"m"},{"name":"n"}],"syntax":"SYNTAX_PROTO3"}""",
        "methods=[{\"name\":\"m\"},{\"name\":\"n\"}]", "syntax=SYNTAX_PROTO3")]
    [InlineData("""{"methods":[{"name":"m"},{"name":"n"}]}""",
        "methods={\"name\":\"m\"}", "methods={\"name\":\"n\"}")]
    [InlineData("""{"sourceContext":{"fileName":"f"}}""", "source_context={\"fileName\":\"f\"}")]
    [InlineData("""{"sourceContext":{"fileName":"f"}}""", "source_context.file_name=f")]
    public static void A_value_is_text_or_JSON_of_its_field(string expected, params string[] assignments) =>
        Assert.Equal(expected, MessageFormats.Json.ToText(
            new MessageMapper().ToMessage(Type, FieldAssignments.Read(Type, assignments))));

    [Theory]
    [InlineData("Zm9v", "value=utf8:foo")]
    [InlineData("Zm9v", "value=base64:Zm9v")]
    [InlineData("PTo=", "value=utf8:=:")]
    public static void Text_for_bytes_has_a_prefix(string expected, string assignment)
    {
        RpcMessageInfo any = Type.Schema.GetMessage("google.protobuf.Any");

        object message = FieldAssignments.Read(any, ["type_url=a/b", assignment]);
        object bare = FieldAssignments.Read(any, ["type_url=a/b", "value=Zm9v"]);

        byte[] value = (byte[])new MessageMapper().ToMessage(any, message)["value"]!;
        Assert.Equal(expected, Convert.ToBase64String(value));
        RpcException refused = Assert.Throws<RpcException>(() => new MessageMapper().ToMessage(any, bare));
        Assert.Contains("'utf8:Zm9v'", refused.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void Dots_in_the_name_of_an_extension_divide_nothing()
    {
        Dictionary<string, object?> message = (Dictionary<string, object?>)FieldAssignments.Read(
            Type, ["[shop.note].text=a", "[shop.note].[shop.of].at=b", "[shop.flag]=c"]);

        Assert.Equal(["[shop.note]", "[shop.flag]"], message.Keys);
        Dictionary<string, object?> note = (Dictionary<string, object?>)message["[shop.note]"]!;
        Assert.Equal("a", note["text"]);
        Assert.Equal("b", ((Dictionary<string, object?>)note["[shop.of]"]!)["at"]);
        Assert.Equal("c", message["[shop.flag]"]);
    }

    [Theory]
    [InlineData("methods={\"nope\":1}", "--set methods: ", "no field 'nope'", "line 1, column")]
    [InlineData("methods={\"name\":", "--set methods: ", "not JSON", "line 1, column")]
    [InlineData("methods=[{}{}]", "--set methods: ", "not JSON", "line 1, column 4")]
    [InlineData("name", "FIELD=VALUE")]
    [InlineData("=x", "FIELD=VALUE")]
    public static void A_value_that_does_not_fit_is_told_with_its_option(
        string assignment, params string[] parts)
    {
        UsageException error =
            Assert.Throws<UsageException>(() => FieldAssignments.Read(Type, [assignment]));

        Assert.All(parts, part => Assert.Contains(part, error.Message, StringComparison.Ordinal));
    }
}

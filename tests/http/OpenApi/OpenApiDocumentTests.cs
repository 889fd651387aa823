using System.Text.Json.Nodes;
using Json.Schema;
using Microsoft.OpenApi;

namespace ProtoRpc.Http.Tests.OpenApi;

/// <summary>What documents of OpenAPI say of a schema, against what ProtoJSON is.</summary>
public static class OpenApiDocumentTests
{
    private const string Everything = "catalog.Everything";

    private static readonly RpcSchema Catalog = Load("catalog.proto");

    private static readonly OpenApiDocument Document = OpenApiText.Read(RpcOpenApi.Write(Catalog.Services));

    [Fact]
    public static void Methods_are_posts_with_the_types_and_comments_of_the_schema()
    {
        Assert.Equal(
            ["/catalog.Catalog/Get", "/catalog.Catalog/Old", "/catalog.Catalog/Watch"],
            Document.Paths.Keys.Order());
        OpenApiOperation get = OperationOf("/catalog.Catalog/Get");
        OpenApiOperation watch = OperationOf("/catalog.Catalog/Watch");

        Assert.Equal(("catalog.Catalog.Get", "Finds one."), (get.OperationId, get.Description));
        Assert.Equal(["catalog.Catalog"], get.Tags!.Select(tag => tag.Name));
        Assert.Equal("Books and more.", Assert.Single(Document.Tags!).Description);
        Assert.Equal(
            ["application/json", "application/x-protobuf"], get.RequestBody!.Content!.Keys.Order());
        Assert.Equal(
            Everything,
            Assert.IsType<OpenApiSchemaReference>(
                get.Responses!["200"].Content!["application/json"].Schema).Reference.Id);
        Assert.Equal(
            ["application/x-ndjson", "application/x-protobuf"],
            watch.Responses!["200"].Content!.Keys.Order());
        Assert.True(OperationOf("/catalog.Catalog/Old").Deprecated);
        Assert.False(get.Deprecated);
        Assert.Equal("The call failed.", get.Responses["default"].Description);
        Assert.Contains(
            "error_text", get.Responses["default"].Content!["application/json"].Schema!.Properties!.Keys);
    }

    [Fact]
    public static void Fields_have_their_JSON_names_and_comments()
    {
        IOpenApiSchema type = Document.Components!.Schemas![Everything];

        Assert.Contains("theString", type.Properties!.Keys);
        Assert.DoesNotContain("aString", type.Properties.Keys);
        Assert.Equal("A whole number.", type.Properties["aInt32"].Description);
        Assert.Equal("Itself.", type.Properties["more"].Description);
        Assert.True(type.Properties["aGrade"].Deprecated);
        Assert.False(type.Properties["more"].Deprecated);
        Assert.Contains(
            "At most one of these is set: title, grade.", type.Description, StringComparison.Ordinal);
        Assert.Equal(
            ["GRADE_UNKNOWN", "GRADE_GOOD"],
            Document.Components.Schemas["catalog.Grade"].Enum!.Select(value => value.GetValue<string>()));
        Assert.DoesNotContain("google.protobuf.Timestamp", Document.Components.Schemas.Keys);
    }

    [Theory]
    [InlineData(Everything)]
    [InlineData("catalog.Everything.Inner")]
    public static void Every_message_in_ProtoJSON_is_valid_by_its_schema(string type)
    {
        RpcMessageInfo info = Catalog.GetMessage(type);
        JsonSchema schema = SchemaOf(type);
        RandomMessageSource source = new(seed: 1, maxBytes: 2000);

        for (int i = 0; i < 300; i++)
        {
            string json = MessageFormats.Json.ToText(
                source.Make(info), new FormatOptions { Schema = Catalog, IncludeDefaults = i % 2 == 0 });

            Assert.True(IsValid(schema, json), json);
        }
    }

    [Theory]
    [InlineData("""{"aInt32":"x"}""")]
    [InlineData("""{"aUint32":-1}""")]
    [InlineData("""{"aInt64":{}}""")]
    [InlineData("""{"aBool":"yes"}""")]
    [InlineData("""{"aGrade":"GRADE_BEST"}""")]
    [InlineData("""{"more":[]}""")]
    [InlineData("""{"more":{"list":[{"numbers":[true]}]}}""")]
    [InlineData("""{"byName":{"x":{"aBool":1}}}""")]
    [InlineData("""{"grades":{"1":5}}""")]
    [InlineData("""{"takes":"1.5"}""")]
    [InlineData("""{"object":[]}""")]
    [InlineData("""{"values":{}}""")]
    [InlineData("""{"wrappedBool":"true"}""")]
    public static void What_is_no_message_is_not_valid(string json) =>
        Assert.False(IsValid(SchemaOf(Everything), json), json);

    [Fact]
    public static void Types_of_two_schemas_that_share_a_name_are_two()
    {
        RpcSchema other = Load("catalog.proto");

        OpenApiDocument both = OpenApiText.Read(RpcOpenApi.Write([.. Catalog.Services, .. other.Services]));

        Assert.Contains($"{Everything}.2", both.Components!.Schemas!.Keys);
    }

    [Fact]
    public static void No_service_is_a_document_all_the_same() =>
        Assert.Empty(OpenApiText.Read(RpcOpenApi.Write([])).Paths);

    // Each type refers to the next, which a writer that follows would do on the stack.
    [Fact]
    public static void A_long_chain_of_types_is_written()
    {
        const int Types = 20_000;
        string folder = Directory.CreateTempSubdirectory("protorpc-test-").FullName;
        try
        {
            IEnumerable<string> lines = Enumerable.Range(0, Types).Select(
                n => $"message M{n} {{ M{(n + 1) % Types} next = 1; /* \u001b[31m */ }}");
            string file = Path.Combine(folder, "chain.proto");
            File.WriteAllText(
                file,
                "syntax = \"proto3\";\n" + string.Join('\n', lines)
                + "\n// \u001b[31mred\u0007\nservice S { rpc Go (M0) returns (M1); }\n");

            string text = RpcOpenApi.Write(RpcSchema.Load([file]).Services);

            IDictionary<string, IOpenApiSchema> schemas = OpenApiText.Read(text).Components!.Schemas!;
            Assert.Equal(Types, schemas.Count(schema => schema.Key[0] == 'M'));
            Assert.DoesNotContain(text, c => char.IsControl(c) && c != '\n');
            Assert.InRange(text.Length, 1, Types * 300);
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }

    private static RpcSchema Load(string name) =>
        RpcSchema.Load([Path.Combine(AppContext.BaseDirectory, "protos", name)]);

    private static OpenApiOperation OperationOf(string path) =>
        Assert.Single(Document.Paths[path].Operations!).Value;

    // The types of a document refer to each other by its paths; those of a schema are below $defs.
    private static JsonSchema SchemaOf(string type)
    {
        string text = RpcOpenApi.Write(Catalog.Services)
            .Replace("#/components/schemas/", "#/$defs/", StringComparison.Ordinal);
        JsonObject schemas = JsonNode.Parse(text)!["components"]!["schemas"]!.AsObject();
        return JsonSchema.FromText(new JsonObject
        {
            ["$ref"] = $"#/$defs/{type}",
            ["$defs"] = schemas.DeepClone(),
        }.ToJsonString());
    }

    private static bool IsValid(JsonSchema schema, string json) => schema.Evaluate(
        System.Text.Json.JsonDocument.Parse(json).RootElement,
        new EvaluationOptions { OutputFormat = OutputFormat.Flag }).IsValid;
}

using System.Net;
using System.Text;
using Microsoft.OpenApi;

namespace ProtoRpc.Http.Tests.OpenApi;

/// <summary>What documents of OpenAPI say of HTTP rules, against what a listener serves.</summary>
public static class OpenApiRestTests
{
    private static readonly OpenApiDocument Document =
        OpenApiText.Read(RpcOpenApi.Write(RestProtos.Library.Services));

    [Theory]
    [InlineData("/v1/shelves/{name}", "DELETE", "GetShelf|DeleteShelf", "name")]
    [InlineData("/v1/shelves", "GET", "ListShelves|CreateShelf")]
    [InlineData(
        "/v1/shelves/{shelvesId}/books/{booksId}", "GET", "GetBook|UpdateBook", "shelvesId", "booksId")]
    [InlineData(
        "/v1/shelves/{shelvesId}/books/{booksId}:archive", "POST", "ArchiveBook", "shelvesId", "booksId")]
    [InlineData("/v1/files/{name}/stat", "GET", "StatFile", "name")]
    [InlineData("/v1/any/{segment2}/end", "GET", "Anything", "segment2")]
    public static void A_rule_is_a_path_with_its_parameters(
        string path, string method, string methods, params string[] parameters)
    {
        IOpenApiPathItem item = Document.Paths[path];

        Assert.Equal(
            methods.Split('|').Select(name => $"rest.Library.{name}.rest").Order(),
            item.Operations!.Values.Select(operation => operation.OperationId).Order());
        Assert.Equal(
            parameters,
            OpenApiText.ParametersOf(item.Operations[new HttpMethod(method)], ParameterLocation.Path));
    }

    [Fact]
    public static void The_query_has_what_is_neither_in_the_path_nor_in_the_body()
    {
        string?[] get = QueryOf("/v1/shelves/{name}", HttpMethod.Get);
        string?[] put = QueryOf("/v1/tags", HttpMethod.Put);

        Assert.Contains("number", get);
        Assert.Contains("inner.name", get);
        Assert.Contains("time", get);
        Assert.Contains("maybeText", get);
        Assert.DoesNotContain("name", get);
        Assert.DoesNotContain("labels", get);
        Assert.DoesNotContain("inners", get);
        Assert.Contains("name", put);
        Assert.DoesNotContain("tags", put);
        Assert.Empty(QueryOf("/v1/shelves", HttpMethod.Post));
    }

    [Fact]
    public static void Bodies_and_replies_are_those_of_the_rule()
    {
        OpenApiOperation tags = Document.Paths["/v1/tags"].Operations![HttpMethod.Get];
        OpenApiOperation labels = Document.Paths["/v1/labels/{name}"].Operations![HttpMethod.Put];
        OpenApiOperation upload = Document.Paths["/v1/upload/{name}"].Operations![HttpMethod.Post];
        OpenApiOperation watch = Document.Paths["/v1/watch/{number}"].Operations![HttpMethod.Get];

        Assert.Equal(
            JsonSchemaType.Array, tags.Responses!["200"].Content!["application/json"].Schema!.Type);
        Assert.NotNull(labels.RequestBody!.Content!["application/json"].Schema!.AdditionalProperties);
        Assert.Equal("binary", upload.RequestBody!.Content!["*/*"].Schema!.Format);
        Assert.Equal(
            ["application/x-ndjson", "text/event-stream"], watch.Responses!["200"].Content!.Keys.Order());
    }

    [Fact]
    public static async Task Every_operation_is_served()
    {
        using RestServer server = new();
        int calls = 0;

        foreach ((string path, IOpenApiPathItem item) in Document.Paths)
        {
            foreach ((HttpMethod method, OpenApiOperation operation) in item.Operations!)
            {
                using HttpRequestMessage request = new(method, TargetOf(path, operation));
                if (operation.RequestBody is not null)
                {
                    request.Content = new StringContent(
                        BodyOf(operation), Encoding.UTF8, "application/json");
                }

                using HttpResponseMessage response = await server.Http.SendAsync(request);

                bool isThere = response.StatusCode is not (HttpStatusCode.NotFound
                    or HttpStatusCode.MethodNotAllowed or HttpStatusCode.BadRequest
                    or HttpStatusCode.UnsupportedMediaType);
                string text = await response.Content.ReadAsStringAsync();
                Assert.True(isThere, $"{method} {request.RequestUri}: {response.StatusCode} {text}");
                calls++;
            }
        }

        Assert.InRange(calls, 50, 100);
    }

    // Messages of messages alone: a query of all ways through them would never end.
    [Fact]
    public static void Messages_that_refer_to_many_are_described_in_time()
    {
        const int Types = 60;
        string folder = Directory.CreateTempSubdirectory("protorpc-test-").FullName;
        try
        {
            IEnumerable<string> types = Enumerable.Range(0, Types).Select(n => $"message M{n} {{ "
                + string.Concat(Enumerable.Range(0, Types).Select(m => $"M{m} f{m} = {m + 1}; ")) + "}");
            string file = Path.Combine(folder, "web.proto");
            File.WriteAllText(file, $$"""
                syntax = "proto3";
                import "google/api/annotations.proto";
                {{string.Join('\n', types)}}
                service S {
                  rpc Go (M0) returns (M1) { option (google.api.http) = { get: "/v1/go" }; }
                  rpc Come (M0) returns (M1) { option (google.api.http) = { get: "/v1/come" }; }
                }
                """);
            OpenApiDocument document =
                OpenApiText.Read(RpcOpenApi.Write(RpcSchema.Load([file], [RestProtos.Folder]).Services));

            Assert.Null(document.Paths["/v1/come"].Operations![HttpMethod.Get].Parameters);
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }

    private static string?[] QueryOf(string path, HttpMethod method) => OpenApiText.ParametersOf(
        Document.Paths[path].Operations![method], ParameterLocation.Query);

    private static string TargetOf(string path, OpenApiOperation operation) =>
        (operation.Parameters ?? []).Where(parameter => parameter.In == ParameterLocation.Path).Aggregate(
            path,
            (text, parameter) => text.Replace(
                $"{{{parameter.Name}}}", ExampleOf(parameter.Schema!), StringComparison.Ordinal));

    private static string ExampleOf(IOpenApiSchema schema) => schema switch
    {
        { Enum: [{ } first, ..] } => first.GetValue<string>(),
        { Format: "date-time" } => "2020-01-01T00:00:00Z",
        { Format: "int64" } => "5",
        { Format: "byte" } => "YQ==",
        { Pattern: not null } => "1.5s",
        { Type: JsonSchemaType.Boolean } => "true",
        { Type: JsonSchemaType.Integer or JsonSchemaType.Number } => "1",
        _ => "a",
    };

    private static string BodyOf(OpenApiOperation operation) =>
        operation.RequestBody!.Content!.Values.First().Schema?.Type == JsonSchemaType.Array ? "[]" : "{}";
}

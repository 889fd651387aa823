using System.Net;

namespace ProtoRpc.Http.Tests;

/// <summary>The page of the services, the .proto files and the document of OpenAPI have the readers of
/// reflection.</summary>
public static class SchemaReadersTests
{
    private const string Search = "/ProtoService.SearchService/Search";
    private const string Reflection = "grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

    public static TheoryData<string> Paths =>
        ["/", "/ProtoService.proto", "/protoservice.PROTO", "/openapi.json"];

    [Theory]
    [MemberData(nameof(Paths))]
    public static async Task Rules_that_keep_a_caller_from_reflection_keep_it_from_the_schema(string path)
    {
        Dictionary<string, string> rules = new() { [Reflection] = "ann", ["*"] = "anonymous" };
        using SearchServer server = new(
            options: new() { Interceptors = [RpcAuthorization.FromRules(rules)] });

        (HttpStatusCode status, _, string text) = await server.GetAsync(path);

        Assert.Equal(HttpStatusCode.Unauthorized, status);
        Assert.DoesNotContain("SearchRequest", text, StringComparison.Ordinal);
        Assert.Equal(HttpStatusCode.OK, await CallAsync(server));
    }

    [Theory]
    [MemberData(nameof(Paths))]
    public static async Task Callers_whom_the_rules_give_reflection_read_the_schema(string path)
    {
        Dictionary<string, string> rules = new() { [Reflection] = "anonymous" };
        using SearchServer server = new(
            options: new() { Interceptors = [RpcAuthorization.FromRules(rules)] });

        (HttpStatusCode status, _, string text) = await server.GetAsync(path);

        Assert.Equal(HttpStatusCode.OK, status);
        Assert.Contains("SearchRequest", text, StringComparison.Ordinal);
        Assert.Equal(HttpStatusCode.Unauthorized, await CallAsync(server));
    }

    [Theory]
    [MemberData(nameof(Paths))]
    public static async Task Without_reflection_nobody_reads_the_schema(string path)
    {
        using SearchServer server = new(new HttpServerOptions { EnableReflection = false });

        (HttpStatusCode status, _, string text) = await server.GetAsync(path);

        Assert.Equal(HttpStatusCode.NotFound, status);
        Assert.DoesNotContain("SearchRequest", text, StringComparison.Ordinal);
        Assert.Equal(HttpStatusCode.OK, await CallAsync(server));
    }

    private static async Task<HttpStatusCode> CallAsync(SearchServer server) =>
        (await server.PostAsync(Search, "application/json", """{"query":"a"}""")).Status;
}

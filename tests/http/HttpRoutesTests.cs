using System.Diagnostics;
using System.Net;

namespace ProtoRpc.Http.Tests;

public static class HttpRoutesTests
{
    [Theory]
    [InlineData("/ProtoService.SearchService/Search")]
    [InlineData("/protoservice.searchservice/search")]
    [InlineData("/ProtoService.proto/Search")]
    [InlineData("/protoservice.proto/Search")]
    public static async Task A_method_is_below_its_service_and_below_its_file_in_any_case(string path)
    {
        using SearchServer server = new();

        (HttpStatusCode status, string mediaType, string text) = await server.GetAsync($"{path}?query=asdf");

        Assert.Equal(HttpStatusCode.OK, status);
        Assert.Equal("text/xml", mediaType);
        Assert.Equal("<root><result><url>http://example.com/asdf</url></result></root>", text);
    }

    [Theory]
    [InlineData("/protoservice.proto/BadMethodName")]
    [InlineData("/ProtoService.SearchService/BadMethodName")]
    public static async Task An_unknown_method_is_not_found_by_its_full_name(string path)
    {
        using SearchServer server = new();

        (HttpStatusCode status, _, string text) = await server.GetAsync(path);

        Assert.Equal(HttpStatusCode.NotFound, status);
        Assert.Contains(
            "<error_text>Method 'ProtoService.SearchService.BadMethodName' not found.</error_text>",
            text,
            StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("/ProtoService.proto", "service SearchService")]
    [InlineData("/PROTOSERVICE.PROTO", "import \"parts/result.proto\";")]
    [InlineData("/parts/result.proto", "message Result")]
    public static async Task The_schema_is_served_with_its_imports(string path, string part)
    {
        using SearchServer server = new();

        (HttpStatusCode status, string mediaType, string text) = await server.GetAsync(path);

        Assert.Equal(HttpStatusCode.OK, status);
        Assert.Equal("text/plain", mediaType);
        Assert.Contains(part, text, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("/nothing")]
    [InlineData("/google/protobuf/descriptor.proto")]
    [InlineData("/../ProtoService.proto/x")]
    [InlineData("/No.Service/Search")]
    public static async Task What_is_not_the_services_is_not_found(string path)
    {
        using SearchServer server = new();

        (HttpStatusCode status, _, _) = await server.GetAsync(path);

        Assert.Equal(HttpStatusCode.NotFound, status);
    }

    [Fact]
    public static async Task An_endpoint_with_a_path_serves_below_it_alone()
    {
        using SearchServer server = new(endpoint: "http://127.0.0.1:0/api/v1");

        (HttpStatusCode below, _, _) = await server.GetAsync("/api/v1/ProtoService.proto/Search?query=x");
        (HttpStatusCode beside, _, _) = await server.GetAsync("/ProtoService.proto/Search?query=x");
        (HttpStatusCode joined, _, _) = await server.GetAsync("/api/v1ProtoService.proto/Search?query=x");

        Assert.Equal(HttpStatusCode.OK, below);
        Assert.Equal(HttpStatusCode.NotFound, beside);
        Assert.Equal(HttpStatusCode.NotFound, joined);
    }

    [Fact]
    public static async Task The_page_lists_services_and_methods_and_lets_nothing_else_run()
    {
        using SearchServer server = new();
        using HttpResponseMessage page = await server.Http.GetAsync("/");

        string html = await page.Content.ReadAsStringAsync();

        Assert.Equal("text/html", page.Content.Headers.ContentType?.MediaType);
        Assert.Contains("ProtoService.SearchService", html, StringComparison.Ordinal);
        Assert.Contains("data-path=\"/ProtoService.SearchService/Search\"", html, StringComparison.Ordinal);
        Assert.Contains("&quot;query&quot;", html, StringComparison.Ordinal);
        Assert.Contains(
            "default-src 'none'",
            page.Headers.GetValues("Content-Security-Policy").Single(),
            StringComparison.Ordinal);
    }

    [Fact]
    public static async Task The_text_of_a_large_file_is_written_once()
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-");
        try
        {
            string path = Path.Combine(folder.FullName, "large.proto");
            await File.WriteAllTextAsync(
                path,
                "syntax = \"proto3\"; service S { rpc Do(M0) returns (M0); }"
                + string.Concat(Enumerable.Range(0, 5_000).Select(
                    i => $"message M{i} {{ M{(i + 1) % 5_000} a = 1; repeated string b = 2; }}\n")));
            using RpcServer server = RpcServer.Create(
                RpcSchema.Load([path]), null, new RpcServerOptions().WithHttp())
                .AddEndpoint("http://127.0.0.1:0/")
                .StartListening();
            using HttpClient http = new() { BaseAddress = new(server.Endpoints[0].Uri) };
            Stopwatch first = Stopwatch.StartNew();
            string text = await http.GetStringAsync("large.proto");
            first.Stop();

            Stopwatch next = Stopwatch.StartNew();
            for (int i = 0; i < 40; i++)
            {
                Assert.Equal(text.Length, (await http.GetStringAsync("large.proto")).Length);
            }

            Assert.True(next.Elapsed < 10 * first.Elapsed, $"{first.Elapsed} for one, {next.Elapsed} for 40");
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }
}

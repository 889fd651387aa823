using System.Collections.Concurrent;
using System.Net;

namespace ProtoRpc.Http.Tests.Rest;

/// <summary>Calls by the paths of google.api.http.</summary>
public sealed class RestServerTests : IDisposable
{
    private readonly ConcurrentQueue<RpcAccessLogEntry> _entries = new();
    private readonly RestServer _server;

    public RestServerTests() => _server = new RestServer(
        options: new RpcServerOptions { AccessLog = RpcAccessLog.To(_entries.Enqueue) });

    public void Dispose() => _server.Dispose();

    [Theory]
    [InlineData("GET", "/v1/shelves/a%2Fb?number=5", null, "GetShelf", """{"name":"a/b","number":5}""")]
    [InlineData("GET", "/v1/shelves/a+b", null, "GetShelf", """{"name":"a+b"}""")]
    [InlineData("GET", "/v1/shelves/a%252Fb", null, "GetShelf", """{"name":"a%2Fb"}""")]
    [InlineData("GET", "/v1/shelves/1/books/a%2Fb%20c", null, "GetBook",
        """{"name":"shelves/1/books/a%2Fb c"}""")]
    [InlineData("POST", "/v1/shelves/1/books/2:archive", """{"number":3}""", "ArchiveBook",
        """{"name":"shelves/1/books/2","number":3}""")]
    [InlineData("POST", "/v1/shelves", """{"name":"x"}""", "CreateShelf", """{"name":"x"}""")]
    [InlineData("POST", "/v1/shelves", null, "CreateShelf", "{}")]
    [InlineData("PATCH", "/v1/shelves/1/books/2?number=4", """{"number":3}""", "UpdateBook",
        """{"number":4,"inner":{"name":"shelves/1/books/2","number":3}}""")]
    [InlineData("PUT", "/v1/tags", """["a","b"]""", "SetTags", """{"tags":["a","b"]}""")]
    [InlineData("DELETE", "/v1/shelves/mine", null, "DeleteShelf", """{"name":"mine"}""")]
    [InlineData("PURGE", "/v1/cache/x", null, "Purge", """{"name":"x"}""")]
    [InlineData("GET", "/v1/files/a/b?flag=true", null, "ReadFile", """{"name":"a/b","flag":true}""")]
    [InlineData("GET", "/", null, "Root", "{}")]
    public async Task A_rule_gives_the_request(
        string method, string target, string? body, string called, string request)
    {
        (HttpStatusCode status, string mediaType, string text) =
            await _server.SendAsync(method, target, body);

        Assert.Equal((HttpStatusCode.OK, "application/json"), (status, mediaType));
        AssertJson($$"""{"method":"{{called}}","request":{{request}}}""", text);
        _server.Server.RequireCounts(counts => counts.Calls == 1);
        _server.Server.Dispose();
        Assert.Equal($"rest.Library/{called}", Assert.Single(_entries).Method);
    }

    [Theory]
    [InlineData("POST", "/v1/shelves/a", "DELETE, GET, HEAD, OPTIONS")]
    [InlineData("PUT", "/v1/shelves", "GET, HEAD, POST, OPTIONS")]
    [InlineData("GET", "/v1/shelves/1/books/2:archive", "OK")]
    [InlineData("GET", "/v1/cache/x", "PURGE, OPTIONS")]
    [InlineData("GET", "/v1/nothing", "404")]
    [InlineData("GET", "/v1/shelves/", "OK")]
    [InlineData("GET", "/v1/files/%2e%2e/a", "404")]
    public async Task A_path_without_the_method_of_HTTP_is_405_with_those_it_has(
        string method, string target, string expected)
    {
        using HttpRequestMessage request = new(new HttpMethod(method), target);
        using HttpResponseMessage response = await _server.Http.SendAsync(request);

        HttpStatusCode status = expected switch
        {
            "OK" => HttpStatusCode.OK,
            "404" => HttpStatusCode.NotFound,
            _ => HttpStatusCode.MethodNotAllowed,
        };
        Assert.Equal(status, response.StatusCode);
        if (status == HttpStatusCode.MethodNotAllowed)
        {
            Assert.Equal(expected, string.Join(", ", response.Content.Headers.Allow));
            string why = $"{method} is not supported here; use one of {expected}.";
            AssertJson(
                $$"""{"code":"unimplemented","error_text":"{{why}}"}""",
                await response.Content.ReadAsStringAsync());
        }
    }

    [Fact]
    public async Task HEAD_is_answered_as_GET_without_a_body_and_OPTIONS_lists_the_methods()
    {
        using HttpResponseMessage head = await _server.Http.SendAsync(
            new HttpRequestMessage(HttpMethod.Head, "/v1/shelves/a"));
        using HttpResponseMessage options = await _server.Http.SendAsync(
            new HttpRequestMessage(HttpMethod.Options, "/v1/shelves/a"));

        Assert.Equal(HttpStatusCode.OK, head.StatusCode);
        Assert.Equal("application/json", head.Content.Headers.ContentType!.MediaType);
        Assert.True(head.Content.Headers.ContentLength > 0);
        Assert.Equal(HttpStatusCode.NoContent, options.StatusCode);
        Assert.Equal("DELETE, GET, HEAD, OPTIONS", string.Join(", ", options.Content.Headers.Allow));
    }

    [Theory]
    [InlineData("/v1/tags?tags=a&tags=b", """["a","b"]""")]
    [InlineData("/v1/tags", "[]")]
    [InlineData("/v1/request?name=x", """{"name":"x"}""")]
    public async Task A_field_of_the_reply_can_be_the_body(string target, string expected)
    {
        (HttpStatusCode status, _, string text) = await _server.GetAsync(target);
        (HttpStatusCode xml, _, _) = await _server.GetAsync(target, ("Accept", "text/xml"));

        Assert.Equal(HttpStatusCode.OK, status);
        Assert.Equal(expected, text.Replace(" ", ""));
        Assert.Equal(HttpStatusCode.NotAcceptable, xml);
    }

    [Theory]
    [InlineData(null, "application/json")]
    [InlineData("*/*", "application/json")]
    [InlineData("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/json")]
    [InlineData("application/x-protobuf", "application/x-protobuf")]
    [InlineData("text/xml", "text/xml")]
    public async Task Replies_and_failures_are_JSON_unless_the_caller_asks_for_another_format(
        string? accept, string mediaType)
    {
        (string, string)[] headers = accept is null ? [] : [("Accept", accept)];

        (HttpStatusCode ok, string found, _) = await _server.GetAsync("/v1/shelves/a", headers);
        (HttpStatusCode wrong, string failed, _) = await _server.GetAsync("/v1/typed/number/x", headers);

        Assert.Equal((HttpStatusCode.OK, mediaType), (ok, found));
        Assert.Equal((HttpStatusCode.BadRequest, mediaType), (wrong, failed));
    }

    [Theory]
    [InlineData(RpcStatusCode.NotFound, HttpStatusCode.NotFound)]
    [InlineData(RpcStatusCode.PermissionDenied, HttpStatusCode.Forbidden)]
    [InlineData(RpcStatusCode.Unavailable, HttpStatusCode.ServiceUnavailable)]
    [InlineData(RpcStatusCode.Aborted, HttpStatusCode.Conflict)]
    public async Task A_failure_of_the_handler_is_one_of_HTTP(RpcStatusCode code, HttpStatusCode expected)
    {
        (HttpStatusCode status, _, string text) = await _server.GetAsync($"/v1/fail/{(int)code}");

        Assert.Equal(expected, status);
        Assert.Contains("as you like", text);
        _server.Server.Dispose();
        Assert.Equal(("rest.Library/Fail", code), (Assert.Single(_entries).Method, _entries.First().Status));
    }

    [Theory]
    [InlineData("/v1/watch/2", null, "application/x-ndjson", "{\"tags\":[\"1\"]}\n{\"tags\":[\"2\"]}\n")]
    [InlineData("/v1/watch/2/tags", null, "application/x-ndjson", "[\"1\"]\n[\"2\"]\n")]
    [InlineData("/v1/watch/2", "text/event-stream", "text/event-stream",
        "data: {\"tags\":[\"1\"]}\n\ndata: {\"tags\":[\"2\"]}\n\n")]
    [InlineData("/v1/watch/1/tags", "text/event-stream", "text/event-stream", "data: [\"1\"]\n\n")]
    [InlineData("/v1/watch/1?maybe=x", "text/event-stream", "text/event-stream",
        "data: {\"tags\":[\"1\"]}\n\n"
        + "event: error\ndata: {\"code\":\"aborted\",\"error_text\":\"enough\"}\n\n")]
    [InlineData("/v1/watch/1/tags?maybe=x", null, "application/x-ndjson",
        "[\"1\"]\n{\"@error\":{\"code\":\"aborted\",\"error_text\":\"enough\"}}\n")]
    [InlineData("/v1/watch/0", null, "application/x-ndjson", "")]
    public async Task A_stream_is_lines_of_JSON_or_events(
        string target, string? accept, string mediaType, string expected)
    {
        (string, string)[] headers = accept is null ? [] : [("Accept", accept)];

        (HttpStatusCode status, string found, string text) = await _server.GetAsync(target, headers);

        Assert.Equal((HttpStatusCode.OK, mediaType), (status, found));
        Assert.Equal(expected, text);
    }

    [Fact]
    public async Task A_failure_before_the_first_reply_of_a_stream_has_its_status()
    {
        (HttpStatusCode status, string mediaType, string text) =
            await _server.GetAsync("/v1/watch/0?maybe=x");

        Assert.Equal((HttpStatusCode.Conflict, "application/json"), (status, mediaType));
        Assert.Contains("enough", text);
    }

    [Fact]
    public async Task Raw_bodies_go_both_ways()
    {
        (HttpStatusCode uploaded, _, string upload) = await _server.SendAsync(
            "POST", "/v1/upload/a", "\ufeff<raw>", ("Content-Type", "text/x-raw"));
        (HttpStatusCode downloaded, string mediaType, string download) =
            await _server.GetAsync("/v1/download/hello");
        (HttpStatusCode streamed, string partsType, string parts) = await _server.GetAsync("/v1/parts/3");
        (_, string none, string nothing) = await _server.GetAsync("/v1/parts/0");

        Assert.Equal(HttpStatusCode.OK, uploaded);
        AssertJson("""
            {"method":"Upload","file":{"name":"a","file":{"contentType":"text/x-raw","data":"77u/PHJhdz4="}}}
            """, upload);
        Assert.Equal(
            (HttpStatusCode.OK, "text/x-name", "hello"), (downloaded, mediaType, download));
        Assert.Equal((HttpStatusCode.OK, "text/x-parts", "1;2;3;"), (streamed, partsType, parts));
        Assert.Equal(("application/octet-stream", ""), (none, nothing));
    }

    [Fact]
    public async Task A_raw_stream_that_fails_is_cut_off() =>
        await Assert.ThrowsAnyAsync<HttpRequestException>(() => _server.GetAsync("/v1/parts/3?maybe=x"));

    [Fact]
    public async Task Bodies_have_the_formats_of_the_house()
    {
        byte[] bytes = RestProtos.Request("""{"number":7}""").ToByteArray();
        using ByteArrayContent content = new(bytes);
        content.Headers.ContentType = new("application/x-protobuf");
        using HttpResponseMessage binary = await _server.Http.PutAsync("/v1/books/x/8", content);
        (HttpStatusCode form, _, string text) = await _server.SendAsync(
            "POST", "/v1/shelves", "{}", ("Content-Type", "application/x-www-form-urlencoded"));
        (HttpStatusCode other, _, _) = await _server.SendAsync(
            "POST", "/v1/shelves", "{}", ("Content-Type", "text/html"));
        (HttpStatusCode xml, _, string xmlText) = await _server.SendAsync(
            "PUT", "/v1/tags", "<x/>", ("Content-Type", "text/xml"));

        AssertJson(
            """{"method":"UpdateBook","request":{"number":8,"inner":{"name":"x"}}}""",
            await binary.Content.ReadAsStringAsync());
        Assert.Equal(HttpStatusCode.UnsupportedMediaType, form);
        Assert.Contains("send Content-Type: application/json", text);
        Assert.Equal(HttpStatusCode.UnsupportedMediaType, other);
        Assert.Equal(HttpStatusCode.BadRequest, xml);
        Assert.Contains("which only JSON can hold alone", xmlText);
    }

    [Fact]
    public async Task The_paths_of_methods_files_and_the_page_stay()
    {
        using RestServer server = new(endpoint: "http://127.0.0.1:0/base");

        Assert.Equal(HttpStatusCode.OK, (await server.GetAsync("/base/rest.Library/Plain?name=x")).Status);
        Assert.Contains("service Library", (await server.GetAsync("/base/rest.proto")).Text);
        Assert.Equal(HttpStatusCode.OK, (await server.GetAsync("/base/v1/shelves/a")).Status);
        Assert.Equal(HttpStatusCode.NotFound, (await server.GetAsync("/v1/shelves/a")).Status);
        Assert.Equal(HttpStatusCode.NotFound, (await server.GetAsync("/basev1/shelves/a")).Status);
        Assert.Equal("application/json", (await server.GetAsync("/base/")).MediaType);
    }

    [Fact]
    public async Task Pages_may_send_what_a_rule_has_by_GET_and_allowed_origins_all_of_it()
    {
        using RestServer server = new(new HttpServerOptions { AllowedOrigins = ["http://app.example"] });
        (string, string) navigates = ("Sec-Fetch-Site", "none");
        (string, string) evil = ("Origin", "http://evil.example");

        Assert.Equal(HttpStatusCode.OK, (await server.GetAsync("/v1/shelves/a", navigates)).Status);
        Assert.Equal(
            HttpStatusCode.OK, (await server.GetAsync("/rest.Library/GetShelf", navigates)).Status);
        Assert.Equal(
            HttpStatusCode.MethodNotAllowed,
            (await server.GetAsync("/rest.Library/Plain", navigates)).Status);
        Assert.Equal(HttpStatusCode.Forbidden, (await server.GetAsync("/v1/shelves/a", evil)).Status);
        Assert.Equal(
            HttpStatusCode.Forbidden, (await server.SendAsync("PUT", "/v1/tags", "[]", evil)).Status);

        using HttpRequestMessage preflight = new(HttpMethod.Options, "/v1/shelves/a");
        preflight.Headers.Add("Origin", "http://app.example");
        preflight.Headers.Add("Access-Control-Request-Method", "DELETE");
        using HttpResponseMessage allowed = await server.Http.SendAsync(preflight);
        Assert.Equal(
            "DELETE, GET, HEAD, OPTIONS", allowed.Headers.GetValues("Access-Control-Allow-Methods").Single());
        Assert.Equal(
            "http://app.example", allowed.Headers.GetValues("Access-Control-Allow-Origin").Single());
    }

    [Fact]
    public async Task Authorization_limits_and_the_hidden_schema_hold_for_rules()
    {
        using RestServer server = new(
            new HttpServerOptions { EnableReflection = false },
            new RpcServerOptions
            {
                Limits = RpcLimits.Default with { MaxMessageBytes = 1000 },
                Interceptors =
                [
                    RpcAuthorization.FromRules(new Dictionary<string, string>
                    {
                        ["*"] = "anonymous",
                        ["rest.Library/DeleteShelf"] = "nobody",
                    }),
                ],
            });

        Assert.Equal(HttpStatusCode.OK, (await server.GetAsync("/v1/shelves/a")).Status);
        Assert.Equal(HttpStatusCode.NotFound, (await server.GetAsync("/rest.proto")).Status);
        Assert.Contains(
            (await server.SendAsync("DELETE", "/v1/shelves/a")).Status,
            new[] { HttpStatusCode.Forbidden, HttpStatusCode.Unauthorized });
        Assert.Equal(
            HttpStatusCode.RequestEntityTooLarge,
            (await server.SendAsync(
                "POST", "/v1/shelves", $$"""{"name":"{{new string('x', 2000)}}"}""")).Status);
    }

    private static void AssertJson(string expected, string actual) => Assert.Equal(
        Google.Protobuf.WellKnownTypes.Struct.Parser.ParseJson(expected),
        Google.Protobuf.WellKnownTypes.Struct.Parser.ParseJson(actual));
}

using System.IO.Compression;
using System.Net;
using System.Net.Http.Headers;
using System.Text;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Http.Tests;

public static class HttpCallsTests
{
    private const string Search = "/ProtoService.SearchService/Search";
    private const string Json = "application/json";

    [Theory]
    [InlineData(Json, """{"query":"a b"}""", Json, """{"result":[{"url":"http://example.com/a b"}]}""")]
    [InlineData(
        "text/xml", "<x><query>a b</query></x>", "text/xml",
        "<root><result><url>http://example.com/a b</url></result></root>")]
    [InlineData(
        "application/x-www-form-urlencoded", "query=a+b", Json,
        """{"result":[{"url":"http://example.com/a b"}]}""")]
    [InlineData(
        Json, """{"query":"a b"}""", "text/xml",
        "<root><result><url>http://example.com/a b</url></result></root>")]
    public static async Task A_call_in_one_format_is_answered_in_another(
        string contentType, string body, string accept, string expected)
    {
        using SearchServer server = new();

        (HttpStatusCode status, string mediaType, string text) =
            await server.PostAsync(Search, contentType, body, ("Accept", accept));

        Assert.Equal(HttpStatusCode.OK, status);
        Assert.Equal(accept, mediaType);
        Assert.Equal(expected, text);
    }

    [Theory]
    [InlineData("application/json", "{\"query\":\"x\"}")]
    [InlineData("application/x-www-form-urlencoded", "query=x")]
    [InlineData("text/xml", "<root><query>x</query></root>")]
    public static async Task A_byte_order_mark_is_passed_over(string type, string body)
    {
        using SearchServer server = new();

        (HttpStatusCode status, _, string text) = await server.PostAsync(
            "/ProtoService.SearchService/Search", type, "\uFEFF" + body, ("Accept", "application/json"));

        Assert.Equal(HttpStatusCode.OK, status);
        Assert.Contains("http://example.com/x", text, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task The_binary_format_needs_no_other()
    {
        using SearchServer server = new();
        using ByteArrayContent content = new(SearchServer.Request("x"));
        content.Headers.ContentType = new MediaTypeHeaderValue("application/vnd.google.protobuf");

        using HttpResponseMessage response = await server.Http.PostAsync(
            "/ProtoService.proto/Search", content);

        Assert.Equal("application/vnd.google.protobuf", response.Content.Headers.ContentType?.MediaType);
        Assert.Equal(
            SearchServer.Found("http://example.com/x").ToByteArray(),
            await response.Content.ReadAsByteArrayAsync());
    }

    [Theory]
    [InlineData("{\"query\":", 400)]
    [InlineData("{\"query\":5}", 400)]
    [InlineData("{\"qury\":\"x\"}", 400)]
    [InlineData("{}", 400)]
    [InlineData("{\"query\":\"x\",\"query\":\"y\"}", 400)]
    [InlineData("", 400)]
    public static async Task What_is_no_request_is_a_bad_request(string body, int status)
    {
        using SearchServer server = new();

        (HttpStatusCode given, _, string text) = await server.PostAsync(Search, Json, body);

        Assert.Equal(status, (int)given);
        Assert.Contains("\"code\":\"invalid_argument\"", text, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_bad_field_is_named_by_its_path()
    {
        using SearchServer server = new();

        (_, _, string text) = await server.PostAsync(
            Search, Json, """{"query":"x","like":{"inner":{"url":5}}}""");

        Assert.Contains("\"field_path\":\"SearchRequest.like.inner.url\"", text, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task Nesting_is_bounded_in_every_format()
    {
        using SearchServer server = new();
        string json = """{"query":"x","like":""" + string.Concat(Enumerable.Repeat("{\"inner\":", 200))
            + "{}" + new string('}', 201);
        string xml = "<r><query>x</query><like>" + string.Concat(Enumerable.Repeat("<inner>", 200))
            + string.Concat(Enumerable.Repeat("</inner>", 200)) + "</like></r>";

        (HttpStatusCode ofJson, _, _) = await server.PostAsync(Search, Json, json);
        (HttpStatusCode ofXml, _, _) = await server.PostAsync(Search, "text/xml", xml);

        Assert.Equal(HttpStatusCode.BadRequest, ofJson);
        Assert.Equal(HttpStatusCode.BadRequest, ofXml);
    }

    [Fact]
    public static async Task Entities_of_xml_are_refused()
    {
        using SearchServer server = new();
        const string Bomb = """
            <!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><r><query>&b;</query></r>
            """;

        (HttpStatusCode status, _, _) = await server.PostAsync(Search, "text/xml", Bomb);

        Assert.Equal(HttpStatusCode.BadRequest, status);
    }

    [Fact]
    public static async Task A_handler_that_fails_is_an_error_in_the_format_that_was_asked_for()
    {
        using SearchServer server =
            new(options: new RpcServerOptions { ErrorDetail = RpcErrorDetail.Message });

        (HttpStatusCode status, string mediaType, string text) = await server.PostAsync(
            "/ProtoService.SearchService/Fail", Json, """{"query":"oh dear"}""", ("Accept", "text/xml"));

        Assert.Equal(HttpStatusCode.InternalServerError, status);
        Assert.Equal("text/xml", mediaType);
        Assert.Contains("<error_text>oh dear</error_text>", text, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task The_text_of_an_error_is_in_the_field_that_the_original_has()
    {
        using SearchServer server =
            new(options: new RpcServerOptions { ErrorDetail = RpcErrorDetail.Message });
        using ByteArrayContent content = new(SearchServer.Request("oh dear"));
        content.Headers.ContentType = new MediaTypeHeaderValue("application/x-protobuf");

        using HttpResponseMessage response = await server.Http.PostAsync(
            "/ProtoService.SearchService/Fail", content);

        ErrorResult error = ErrorResult.Parser.ParseFrom(await response.Content.ReadAsByteArrayAsync());
        Assert.Equal(536870911, ErrorResult.ErrorTextFieldNumber);
        Assert.Equal("oh dear", error.ErrorText);
    }

    [Fact]
    public static async Task A_listener_that_tells_nothing_of_its_errors_tells_nothing()
    {
        using SearchServer server = new(options: new RpcServerOptions { ErrorDetail = RpcErrorDetail.None });

        (_, _, string text) = await server.PostAsync(
            "/ProtoService.SearchService/Fail", Json, """{"query":"secret"}""");

        Assert.DoesNotContain("secret", text, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_client_of_the_connect_protocol_gets_its_errors()
    {
        using SearchServer server = new();

        (HttpStatusCode status, string mediaType, string text) = await server.PostAsync(
            "/ProtoService.SearchService/Nope", "application/proto", "", ("Connect-Protocol-Version", "1"));

        Assert.Equal(HttpStatusCode.NotFound, status);
        Assert.Equal(Json, mediaType);
        Assert.StartsWith(
            "{\"code\":\"unimplemented\",\"message\":\"Method ", text, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_method_without_handler_is_not_implemented()
    {
        using SearchServer server = new();

        (HttpStatusCode status, _, _) =
            await server.PostAsync("/ProtoService.SearchService/Unhandled", Json, """{"query":"x"}""");

        Assert.Equal(HttpStatusCode.NotImplemented, status);
    }

    [Theory]
    [InlineData("text/html", null, 415)]
    [InlineData("application/json; charset=utf-16", null, 415)]
    [InlineData(null, null, 415)]
    [InlineData(Json, "image/png", 406)]
    public static async Task Formats_that_are_not_known_are_refused(
        string? contentType, string? accept, int status)
    {
        using SearchServer server = new();

        (HttpStatusCode given, _, _) = await server.PostAsync(
            Search, contentType, """{"query":"x"}""", accept is null ? [] : [("Accept", accept)]);

        Assert.Equal(status, (int)given);
    }

    [Theory]
    [InlineData("PUT", Search, 405, "GET, HEAD, POST, OPTIONS")]
    [InlineData("DELETE", "/ProtoService.proto", 405, "GET, HEAD, OPTIONS")]
    [InlineData("OPTIONS", Search, 204, "GET, HEAD, POST, OPTIONS")]
    public static async Task The_methods_of_http_that_are_understood_are_named(
        string method, string path, int status, string allow)
    {
        using SearchServer server = new();
        using HttpRequestMessage request = new(new HttpMethod(method), path);

        using HttpResponseMessage response = await server.Http.SendAsync(request);

        Assert.Equal(status, (int)response.StatusCode);
        Assert.Equal(allow, string.Join(", ", response.Content.Headers.Allow));
    }

    [Fact]
    public static async Task Head_has_the_headers_of_get_and_no_body()
    {
        using SearchServer server = new();
        using HttpRequestMessage request = new(HttpMethod.Head, $"{Search}?query=x");

        using HttpResponseMessage response = await server.Http.SendAsync(request);

        Assert.Equal(HttpStatusCode.OK, response.StatusCode);
        Assert.True(response.Content.Headers.ContentLength > 0);
        Assert.Empty(await response.Content.ReadAsByteArrayAsync());
    }

    [Theory]
    [InlineData("gzip")]
    [InlineData("br")]
    public static async Task Bodies_are_compressed_both_ways(string encoding)
    {
        using SearchServer server = new(
            new HttpServerOptions { ReplyCompression = RpcReplyCompression.Always });
        using MemoryStream compressed = new();
        using (Stream stream = encoding == "br"
            ? new BrotliStream(compressed, CompressionLevel.Fastest, leaveOpen: true)
            : new GZipStream(compressed, CompressionLevel.Fastest, leaveOpen: true))
        {
            stream.Write(Encoding.UTF8.GetBytes($$"""{"query":"{{new string('x', 5000)}}"}"""));
        }

        using HttpRequestMessage request = new(HttpMethod.Post, Search)
        {
            Content = new ByteArrayContent(compressed.ToArray()),
        };
        request.Content.Headers.ContentType = new MediaTypeHeaderValue(Json);
        request.Content.Headers.ContentEncoding.Add(encoding);
        request.Headers.AcceptEncoding.ParseAdd(encoding);

        using HttpResponseMessage response = await server.Http.SendAsync(request);

        Assert.Equal(HttpStatusCode.OK, response.StatusCode);
        Assert.Equal(encoding, Assert.Single(response.Content.Headers.ContentEncoding));
        Assert.InRange((await response.Content.ReadAsByteArrayAsync()).Length, 1, 1000);
    }

    [Theory]
    [InlineData(false, 413)]
    [InlineData(true, 413)]
    public static async Task A_body_over_the_limit_is_refused_also_when_it_grows_while_it_is_read(
        bool compress, int status)
    {
        RpcServerOptions options = new() { Limits = new RpcLimits { MaxMessageBytes = 64 * 1024 } };
        using SearchServer server = new(options: options);

        // The server replies before it reads the body, which must fit into the buffers of the sockets.
        byte[] body = Encoding.UTF8.GetBytes($$"""{"query":"{{new string('x', 100 * 1024)}}"}""");
        using MemoryStream compressed = new();
        using (GZipStream stream = new(compressed, CompressionLevel.Optimal, leaveOpen: true))
        {
            stream.Write(body);
        }

        using ByteArrayContent content = new(compress ? compressed.ToArray() : body);
        content.Headers.ContentType = new MediaTypeHeaderValue(Json);
        if (compress)
        {
            content.Headers.ContentEncoding.Add("gzip");
        }

        using HttpResponseMessage response = await server.Http.PostAsync(Search, content);

        Assert.Equal(status, (int)response.StatusCode);
    }

    [Fact]
    public static async Task A_deadline_ends_the_call_on_the_server()
    {
        using SearchServer server = new();

        (HttpStatusCode status, _, _) = await server.PostAsync(
            "/ProtoService.SearchService/Wait", Json, """{"query":"x"}""", ("Connect-Timeout-Ms", "200"));

        Assert.Equal(HttpStatusCode.GatewayTimeout, status);
    }

    [Fact]
    public static async Task Native_and_http_callers_are_counted_together()
    {
        using SearchServer server = new();
        using RpcClient native = RpcClient.Connect(server.Server.Endpoints[1], SearchServer.Schema);

        native.Invoke(
            native.GetMethod("Search"),
            MessageFormats.Json.Read(SearchServer.RequestType, """{"query":"n"}"""));
        await server.PostAsync(Search, Json, """{"query":"h"}""");
        await server.PostAsync(Search, Json, "{");

        server.Server.RequireCounts(counts => counts is { Calls: 3, Errors: 1, InFlight: 0 });
    }

    [Fact]
    public static async Task Stopping_cancels_what_runs_after_the_drain_time()
    {
        using SearchServer server = new();
        Task<(HttpStatusCode, string, string)> call =
            server.PostAsync("/ProtoService.SearchService/Wait", Json, """{"query":"x"}""");
        await server.Waiting.Task;

        await server.Server.StopAsync(TimeSpan.FromMilliseconds(100)).WaitAsync(TimeSpan.FromSeconds(20));

        await Assert.ThrowsAnyAsync<Exception>(() => call);
        Assert.Equal(0, server.Server.Counters.InFlight);
    }
}

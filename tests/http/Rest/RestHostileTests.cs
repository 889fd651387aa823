using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Text;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.TestHost;
using Microsoft.Extensions.Logging;

namespace ProtoRpc.Http.Tests.Rest;

/// <summary>Hostile requests to paths of google.api.http: as bytes over a socket, and longer than Kestrel
/// takes them in the test server of ASP.NET Core.</summary>
public static class RestHostileTests
{
    [Theory]
    [InlineData("GET /v1/shelves/%C0%AF HTTP/1.1", 400, "wrong percent codes")]
    [InlineData("GET /v1/shelves/%E0%80%AF HTTP/1.1", 400, "wrong percent codes")]
    [InlineData("GET /v1/shelves/%zz HTTP/1.1", 400, "wrong percent codes")]
    [InlineData("GET /v1/shelves/% HTTP/1.1", 400, "wrong percent codes")]
    [InlineData("GET /v1/shelves/a%4 HTTP/1.1", 400, "wrong percent codes")]
    [InlineData("GET /v1/shelves/%00 HTTP/1.1", 400, "")]
    [InlineData("GET /v1/shelves/a?number=1&number=2 HTTP/1.1", 400, "the field occurs twice")]
    [InlineData("GET /v1/shelves/a?number=%zz HTTP/1.1", 400, "percent codes")]
    [InlineData("GET /v1/shelves/a?pageToken=%C0%AF HTTP/1.1", 400, "not UTF-8")]
    [InlineData("GET /v1/shelves/a?inner=x HTTP/1.1", 400, "cannot hold rest.Inner")]
    [InlineData("GET /v1/shelves/../shelves/mine HTTP/1.1", 200, "GetMine")]
    [InlineData("GET /v1/x/%2e%2e/shelves/mine HTTP/1.1", 200, "GetMine")]
    [InlineData("GET /v1/x/../shelves/a%2Fb HTTP/1.1", 200, "\"a/b\"")]
    [InlineData("GET /v1/files/a%2F..%2Fb HTTP/1.1", 200, "a%2F..%2Fb")]
    [InlineData("GET http://127.0.0.1/v1/shelves/a%20b%3F HTTP/1.1", 200, "\"a b?\"")]
    [InlineData("GET /v1/shelves/a%1b%5b31m HTTP/1.1", 200, "\\u001B")]
    [InlineData("GET /v1/typed/color/%1b%5b31m HTTP/1.1", 400, "is not in the enum")]
    [InlineData("OPTIONS * HTTP/1.1", 204, "")]
    public static async Task Wrong_bytes_are_told_and_break_nothing(string line, int status, string part)
    {
        using RestServer server = new();

        string answer = await ExchangeAsync(
            server, $"{line}\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");

        Assert.StartsWith($"HTTP/1.1 {status} ", answer, StringComparison.Ordinal);
        Assert.Contains(part, answer, StringComparison.OrdinalIgnoreCase);
        Assert.DoesNotContain('\u001b', answer);
        Assert.Equal(HttpStatusCode.OK, (await server.GetAsync("/v1/shelves/a")).Status);
    }

    [Theory]
    [InlineData("/v1/shelves/", "a", 100_000, 200)]
    [InlineData("/v1/files/", "a/", 50_000, 200)]
    [InlineData("/v1/files/", "stat/", 20_000, 200)]
    [InlineData("/v1/files/", "%2F", 33_000, 200)]
    [InlineData("/v1/", "shelves/a/books/", 6_000, 404)]
    [InlineData("/v1/any/", "*/", 50_000, 404)]
    [InlineData("/v1/files/a", ":", 100_000, 200)]
    [InlineData("/v1/shelves?", "numbers=1&", 10_000, 400)]
    [InlineData("/v1/shelves?", "tags=&", 1_000, 200)]
    [InlineData("/v1/shelves?x=1", "&", 100_000, 200)]
    [InlineData("/v1/shelves?", "inner.", 16_000, 400)]
    [InlineData("/v1/shelves?", "a.b.c.d.", 12_000, 200)]
    [InlineData("/v1/shelves?unknown=", "x", 100_000, 200)]
    [InlineData("/v1/shelves?page_token=", "%41", 33_000, 200)]
    public static async Task Long_addresses_take_time_by_their_length(
        string start, string part, int times, int status)
    {
        await using WebApplication app = Application();
        await app.StartAsync();
        string target = start + string.Concat(Enumerable.Repeat(part, times));
        Stopwatch watch = Stopwatch.StartNew();

        HttpContext answer = await app.GetTestServer().SendAsync(http =>
        {
            int query = target.IndexOf('?', StringComparison.Ordinal);
            http.Request.Method = "GET";
            http.Request.Host = new("localhost");
            http.Request.Path = PathString.FromUriComponent(query < 0 ? target : target[..query]);
            http.Request.QueryString = new(query < 0 ? "" : target[query..]);
            http.Features.Get<IHttpRequestFeature>()!.RawTarget = target;
        });

        Assert.Equal(status, answer.Response.StatusCode);
        Assert.True(watch.Elapsed < TimeSpan.FromSeconds(10), $"{watch.Elapsed}");
    }

    [Fact]
    public static async Task A_rule_for_each_of_ten_thousand_methods_is_found()
    {
        RpcSchema schema = RestProtos.WithRules([.. Enumerable.Range(0, 10_000).Select(i => (
            $"Users/M{i}",
            RestProtos.Rule(("get", $"/v1/kind{i}/{{name=**}}/end"))))]);
        using RpcServer server = RpcServer.Create(schema, "rest.Users", new RpcServerOptions().WithHttp())
            .HandleAll((context, _) => ValueTask.FromResult<Google.Protobuf.IMessage>(
                MessageFormats.Json.Read(
                    context.Method.ReplyType, $$"""{"method":"{{context.Method.Name}}"}""")))
            .AddEndpoint("http://127.0.0.1:0/")
            .StartListening();
        using HttpClient http = new() { BaseAddress = new Uri(server.Endpoints[0].Uri) };

        Assert.Equal("""{"method":"M7777"}""", await http.GetStringAsync("/v1/kind7777/a/b/end"));
    }

    private static WebApplication Application()
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.WebHost.UseTestServer();
        builder.Logging.ClearProviders();
        WebApplication app = builder.Build();
        app.MapProtoRpc(RestServer.Handle(RpcServer.Create(RestProtos.Library, "rest.Library")));
        return app;
    }

    private static async Task<string> ExchangeAsync(RestServer server, string request)
    {
        using TcpClient client = new();
        await client.ConnectAsync("127.0.0.1", server.Server.Endpoints[0].Port);
        NetworkStream stream = client.GetStream();
        await stream.WriteAsync(Encoding.Latin1.GetBytes(request));
        using StreamReader reader = new(stream, Encoding.UTF8);
        return await reader.ReadToEndAsync();
    }
}

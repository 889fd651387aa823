using System.Net;
using System.Text;

namespace ProtoRpc.Http.Tests;

/// <summary>Requests as no client of ours sends them, over a bare socket.</summary>
public static class HostileRequestTests
{
    private const string Path = "/ProtoService.SearchService/Search";

    private static readonly RpcServerOptions Impatient = new()
    {
        Limits = new RpcLimits
        {
            BindTimeout = TimeSpan.FromSeconds(1),
            FragmentTimeout = TimeSpan.FromSeconds(2),
        },
    };

    private static ReadOnlySpan<byte> GzipHeader => [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];

    [Theory]
    [InlineData("GET {path}?query=x HTTP/1.1\r\n\r\n", "400")]
    [InlineData("GET {path}\r\n\r\n", "400")]
    [InlineData("POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent Type: a\r\n\r\n", "400")]
    [InlineData("GET /{huge} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "414")]
    [InlineData("GET {path}?query={huge} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "414")]
    [InlineData("GET {path}?query=x HTTP/1.1\r\nHost: 127.0.0.1\r\nX: {huge}\r\n\r\n", "431")]
    [InlineData("GET {path}?query=x HTTP/1.1\r\nHost: 127.0.0.1\r\n{many}\r\n", "431")]
    [InlineData(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\nContent-Type: "
        + "application/json\r\n\r\n0\r\n{many}\r\n",
        "400|431")]
    [InlineData(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: "
        + "999999999\r\n\r\n",
        "413")]
    [InlineData(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\n"
        + "Content-Length: 3\r\n\r\n\"\u00ff\"",
        "400")]
    [InlineData(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\n"
        + "Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
        "400")]
    [InlineData(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\n"
        + "Content-Encoding: zip\r\nContent-Length: 2\r\n\r\n{}",
        "415")]
    [InlineData("\u0016\u0003\u0001\u0000\u00a5", "400|408")]
    public static async Task Is_refused_and_others_go_on(string request, string statuses)
    {
        using SearchServer server = new(options: Impatient);
        string text = request.Replace("{path}", Path, StringComparison.Ordinal)
            .Replace("{huge}", new string('x', 1024 * 1024), StringComparison.Ordinal)
            .Replace("{many}", string.Concat(Enumerable.Repeat("A: b\r\n", 1000)), StringComparison.Ordinal);

        string reply = await BareClient.ExchangeAsync(server, text);
        (HttpStatusCode other, _, _) = await server.GetAsync($"{Path}?query=x");

        Assert.StartsWith("HTTP/1.1 ", reply, StringComparison.Ordinal);
        Assert.Contains(reply[9..12], statuses.Split('|'));
        Assert.Equal(HttpStatusCode.OK, other);
    }

    // Kestrel checks trailers like headers, but throws another exception for them.
    [Theory]
    [InlineData("application/json", "{\"query\":\"x\"}", "HTTP/1.1 400 .*cannot be read")]
    [InlineData(
        "application/json\r\nContent-Encoding: gzip", "\u001f\u008b\u0008\0\0\0\0\0\0\u0003",
        "HTTP/1.1 400 ")]
    [InlineData("application/grpc-web+proto", "\0\0\0\0\u0003\n\u0001x", "grpc-message:.*cannot be read")]
    [InlineData("application/grpc-web-text", "AAAAAAMKAXg=", "HTTP/1.1 200 ")]
    public static async Task A_malformed_chunk_or_trailer_is_an_error_of_the_caller(
        string mediaType, string body, string expected)
    {
        using SearchServer server = new();
        foreach (string end in (string[])
            ["0\r\nT: \u00e2\r\n\r\n", "0\r\nT: \0\r\n\r\n", "fffffffff\r\n"])
        {
            string reply = await BareClient.ExchangeAsync(
                server,
                $"POST {Path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: {mediaType}"
                + $"\r\nTransfer-Encoding: chunked\r\n\r\n{body.Length:x}\r\n{body}\r\n{end}");

            Assert.Matches($"(?s){expected}", reply);
            Assert.DoesNotContain("correlation", reply, StringComparison.OrdinalIgnoreCase);
        }
    }

    [Fact]
    public static async Task A_request_whose_headers_never_end_is_given_up()
    {
        using SearchServer server = new(options: Impatient);

        string reply =
            await BareClient.ExchangeAsync(server, $"GET {Path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ");

        Assert.StartsWith("HTTP/1.1 408", reply, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("Content-Length: 100000", "{")]
    [InlineData("Transfer-Encoding: chunked", "1\r\n{\r\n")]
    public static async Task A_body_that_drips_is_given_up(string length, string drop)
    {
        using SearchServer server = new(options: Impatient);

        Task<(string Answer, long Sent)> slow = BareClient.FeedAsync(
            server, Head(length), Encoding.ASCII.GetBytes(drop), TimeSpan.FromMilliseconds(100));
        (HttpStatusCode meanwhile, _, _) = await server.GetAsync($"{Path}?query=x");

        Assert.Equal(HttpStatusCode.OK, meanwhile);
        Assert.StartsWith("HTTP/1.1 408", (await slow).Answer, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("application/json", "")]
    [InlineData("application/json", "Content-Encoding: gzip\r\n")]
    [InlineData("text/xml", "")]
    [InlineData("application/x-www-form-urlencoded", "")]
    [InlineData("application/x-protobuf", "")]
    public static async Task Bodies_without_end_take_no_more_memory_than_the_limit(
        string mediaType, string encoding)
    {
        const int Clients = 16;
        const int MaxMessageBytes = 256 * 1024;
        const int ConnectionBytes = 1024 * 1024;
        const int OtherTestsBytes = 256 * 1024 * 1024;
        using SearchServer server = new(
            options: new RpcServerOptions { Limits = new RpcLimits { MaxMessageBytes = MaxMessageBytes } });
        byte[] chunk = [.. "1000\r\n"u8, .. Enumerable.Repeat((byte)' ', 4096), .. "\r\n"u8];
        byte[] start = [.. "a\r\n"u8, .. encoding.Length > 0 ? GzipHeader : "          "u8, .. "\r\n"u8];
        string head = Head($"{encoding}Transfer-Encoding: chunked", mediaType)
            + Encoding.Latin1.GetString(start);
        long before = GC.GetTotalMemory(forceFullCollection: true);

        Task<(string Answer, long Sent)>[] endless = [.. Enumerable.Range(0, Clients)
            .Select(_ => BareClient.FeedAsync(server, head, chunk, TimeSpan.Zero))];
        (HttpStatusCode meanwhile, _, _) = await server.GetAsync($"{Path}?query=x");
        (string Answer, long Sent)[] ends = await Task.WhenAll(endless);

        Assert.Equal(HttpStatusCode.OK, meanwhile);
        string refused = encoding.Length > 0 ? "^HTTP/1.1 4(13|00)" : "^HTTP/1.1 413";
        Assert.All(ends, end => Assert.Matches(refused, end.Answer));

        // The memory is that of all tests that run now. A server that kept the bodies would soon have
        // gigabytes.
        long more = GC.GetTotalMemory(forceFullCollection: true) - before;
        const int OwnBytes = Clients * (MaxMessageBytes + ConnectionBytes);
        Assert.InRange(more, long.MinValue, OwnBytes + OtherTestsBytes);
    }

    private static string Head(string length, string mediaType = "application/json") =>
        $"POST {Path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {mediaType}\r\n{length}\r\n\r\n";
}

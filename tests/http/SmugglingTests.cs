using System.Net;

namespace ProtoRpc.Http.Tests;

/// <summary>Requests of which a proxy in front and the listener could see different ends,
/// so that what the one takes for a body is a request for the other (RFC 9112 section 11.2).</summary>
public static class SmugglingTests
{
    private const string Path = "/ProtoService.SearchService/Search";
    private const string Hidden = "POST /ProtoService.SearchService/Fail HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        + "Content-Type: application/json\r\nContent-Length: 18\r\n\r\n{\"query\":\"hidden\"}";

    // gRPC over HTTP/1.1 is rejected by other code than calls over HTTP.
    private static readonly string[] Types = ["application/json", "application/grpc"];

    [Theory]
    [InlineData("Content-Length: 6\r\nTransfer-Encoding: chunked", "0\r\n\r\n")]
    [InlineData("Transfer-Encoding: chunked\r\nContent-Length: 6", "0\r\n\r\n")]
    [InlineData("Content-Length: 0\r\nContent-Length: 5", "")]
    [InlineData("Content-Length: 0, 5", "")]
    [InlineData("Content-Length: 0x0", "")]
    [InlineData("Content-Length: ", "")]
    [InlineData("Content-Length: +0", "")]
    [InlineData("Content-Length: -0", "")]
    [InlineData("Content-Length: 0 0", "")]
    [InlineData("Content-Length: 0,0", "")]
    [InlineData("Content-Length: 0.0", "")]
    [InlineData("Content-Length: 0;", "")]
    [InlineData("Content-Length: \u00B2", "")]
    [InlineData("Transfer-Encoding: chunked, chunked", "0\r\n\r\n")]
    [InlineData("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "0\r\n\r\n")]
    [InlineData("Transfer-Encoding: gzip, chunked", "0\r\n\r\n")]
    [InlineData("Transfer-Encoding: identity, chunked", "0\r\n\r\n")]
    [InlineData("Transfer-Encoding: ,chunked", "0\r\n\r\n")]
    [InlineData("Transfer-Encoding: chunked,", "0\r\n\r\n")]
    [InlineData("Transfer-Encoding: chunked;x=y", "0\r\n\r\n")]
    [InlineData("Content-Length : 0", "")]
    [InlineData("Content-Length: 99999999999999999999", "")]
    [InlineData("Transfer-Encoding: xchunked", "0\r\n\r\n")]
    [InlineData("Transfer-Encoding: chunked, identity", "0\r\n\r\n")]
    [InlineData("Transfer-Encoding: identity", "")]
    [InlineData("Transfer-Encoding : chunked", "0\r\n\r\n")]
    [InlineData("Transfer-Encoding:\r\n chunked", "0\r\n\r\n")]
    [InlineData("X: a\r\n\tb\r\nContent-Length: 0", "")]
    [InlineData("X: a\rContent-Length: 5", "")]
    [InlineData("X: a\0b", "")]
    [InlineData("Transfer-Encoding: chunked", "zz\r\n")]
    [InlineData("Transfer-Encoding: chunked", "-1\r\n")]
    [InlineData("Transfer-Encoding: chunked", "0x2\r\n{}\r\n0\r\n\r\n")]
    [InlineData("Transfer-Encoding: chunked", "FFFFFFFFFFFFFFFF2\r\n{}\r\n0\r\n\r\n")]
    [InlineData("Transfer-Encoding: chunked", "2\r\n{}}\r\n0\r\n\r\n")]
    [InlineData("Transfer-Encoding: chunked", "2;a\n{}\r\n0\r\n\r\n")]
    [InlineData("Transfer-Encoding: chunked", "2;a\nxx\r\n{}\r\n0\r\n\r\n")]
    [InlineData("Host: second.example", "")]
    public static async Task Nothing_behind_such_a_request_is_run(string headers, string body)
    {
        using SearchServer server = new();

        foreach (string type in Types)
        {
            string answers = await BareClient.ExchangeAsync(
                server,
                $"POST {Path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {type}\r\n"
                + $"{headers}\r\n\r\n{body}{Hidden}");

            RequireOneRejection(answers);
        }

        (HttpStatusCode other, _, _) = await server.GetAsync($"{Path}?query=x");
        Assert.Equal(HttpStatusCode.OK, other);
    }

    [Theory]
    [InlineData("application/json")]
    [InlineData("application/grpc")]
    public static async Task HTTP_1_0_has_no_transfer_coding(string type)
    {
        using SearchServer server = new();

        string answers = await BareClient.ExchangeAsync(
            server,
            $"POST {Path} HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\n"
            + $"Content-Type: {type}\r\nTransfer-Encoding: chunked\r\n\r\n"
            + "d\r\n{\"query\":\"a\"}\r\n0\r\n\r\n" + Hidden);

        RequireOneRejection(answers);
    }

    private static void RequireOneRejection(string answers)
    {
        Assert.Matches("^HTTP/1.1 (4..|501) ", answers);
        Assert.Equal(0, answers.LastIndexOf("HTTP/1.1 ", StringComparison.Ordinal));
        Assert.DoesNotContain("hidden", answers, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task Requests_one_behind_the_other_are_all_answered()
    {
        using SearchServer server = new();
        string request = $"POST {Path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            + "Transfer-Encoding: chunked\r\n\r\n7;note=x\r\n{\"query\r\n6\r\n\":\"a\"}\r\n0\r\n\r\n";

        string answers = await BareClient.ExchangeAsync(
            server, request + request.Replace("Host", "Connection: close\r\nHost", StringComparison.Ordinal));

        Assert.Equal(3, answers.Split("HTTP/1.1 200 OK").Length);
    }
}

using System.Net;
using System.Net.Sockets;
using System.Text;
using ProtoRpc.Calls;

namespace ProtoRpc.Http.Tests;

/// <summary>Requests as no client of ours sends them, over a bare socket.</summary>
public static class HostileRequestTests
{
    private const string Path = "/ProtoService.SearchService/Search";

    private static readonly RpcServerOptions Impatient = new()
    {
        Limits = new RpcLimits { BindTimeout = TimeSpan.FromSeconds(1) },
    };

    [Theory]
    [InlineData("GET {path}?query=x HTTP/1.1\r\n\r\n", "400")]
    [InlineData("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400|415|200")]
    [InlineData("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcde", "400")]
    [InlineData("POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", "400|501")]
    [InlineData("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", "400")]
    [InlineData("GET {path}\r\n\r\n", "400")]
    [InlineData("POST {path} HTTP/1.1\r\nHost: x\r\nContent Type: a\r\n\r\n", "400")]
    [InlineData("GET /{huge} HTTP/1.1\r\nHost: x\r\n\r\n", "414")]
    [InlineData("GET {path}?query={huge} HTTP/1.1\r\nHost: x\r\n\r\n", "414")]
    [InlineData("GET {path}?query=x HTTP/1.1\r\nHost: x\r\nX: {huge}\r\n\r\n", "431")]
    [InlineData("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 999999999\r\n\r\n", "413")]
    [InlineData("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\n\"\u00ff\"", "400")]
    [InlineData("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", "400")]
    [InlineData("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Encoding: zip\r\nContent-Length: 2\r\n\r\n{}", "415")]
    [InlineData("\u0016\u0003\u0001\u0000\u00a5", "400|408")]
    public static async Task Is_refused_and_others_go_on(string request, string statuses)
    {
        using SearchServer server = new(options: Impatient);
        string text = request.Replace("{path}", Path, StringComparison.Ordinal)
            .Replace("{huge}", new string('x', 1024 * 1024), StringComparison.Ordinal);

        string reply = await SendAsync(server, text);
        (HttpStatusCode other, _, _) = await server.GetAsync($"{Path}?query=x");

        Assert.StartsWith("HTTP/1.1 ", reply, StringComparison.Ordinal);
        Assert.Contains(reply[9..12], statuses.Split('|'));
        Assert.Equal(HttpStatusCode.OK, other);
    }

    [Fact]
    public static async Task A_request_whose_headers_never_end_is_given_up()
    {
        using SearchServer server = new(options: Impatient);

        string reply = await SendAsync(server, $"GET {Path} HTTP/1.1\r\nHost: x\r\nX-Slow: ");

        Assert.StartsWith("HTTP/1.1 408", reply, StringComparison.Ordinal);
    }

    private static async Task<string> SendAsync(SearchServer server, string request)
    {
        using TcpClient client = new();
        await client.ConnectAsync("127.0.0.1", server.Endpoint.Port);
        NetworkStream stream = client.GetStream();
        using StreamReader reader = new(stream, Encoding.Latin1);
        Task<string?> firstLine = reader.ReadLineAsync();
        try
        {
            await stream.WriteAsync(Encoding.Latin1.GetBytes(request));
        }
        catch (IOException)
        {
            // Refused before all of it was sent.
        }

        try
        {
            return await firstLine.WaitAsync(TimeSpan.FromSeconds(20)) ?? "";
        }
        catch (IOException)
        {
            return "";
        }
    }
}

using System.Net;
using System.Text;
using ProtoRpc.Client;
using ProtoRpc.Transports.Http;

namespace ProtoRpc.Tests.Transports;

/// <summary>Proxies of the environment, and the tunnels through them, from bytes.</summary>
public static class EnvironmentProxyTests
{
    private static readonly ProxyRoute Route = new(new Uri("http://proxy.example:3128"), null);
    private static readonly RpcEndpoint Server = RpcEndpoint.Parse("grpc://server.example:50051");

    [Theory]
    [InlineData("server.example", true)]
    [InlineData("example", true)]
    [InlineData("203.0.113.0/24", true)]
    [InlineData("other.example,10.0.0.0/8", false)]
    public static void Exceptions_count_for_the_name_and_for_the_address_of_a_resolved_server(
        string exceptions, bool isDirect)
    {
        Dictionary<string, string> variables = new()
        {
            ["grpc_proxy"] = "http://proxy.example:3128",
            ["NO_PROXY"] = exceptions,
        };
        EnvironmentProxy rules = new(isGrpc: true, new WebProxy(), variables.GetValueOrDefault);
        NamedServerProxy proxy = new(rules, "server.example");
        Uri server = new("https://203.0.113.7:50051");

        Assert.Equal(isDirect, proxy.IsBypassed(server));
        Assert.Equal(isDirect ? null : "http://proxy.example:3128/", proxy.GetProxy(server)?.ToString());
    }

    [Theory]
    [InlineData(null, "a.example", false)]
    [InlineData("", "a.example", false)]
    [InlineData("*", "a.example", true)]
    [InlineData("10.1.2.3/8", "10.9.9.9", true)]
    [InlineData("10.1.2.3/8", "11.1.2.3", false)]
    [InlineData("10.1.2.3/12", "10.15.0.1", true)]
    [InlineData("10.1.2.3/12", "10.16.0.1", false)]
    [InlineData("10.1.2.3/0", "192.0.2.1", true)]
    [InlineData("10.1.2.3/33", "10.1.2.3", false)]
    [InlineData("fd00::1/8", "[fdff::2]", true)]
    [InlineData("a.example", "A.Example", true)]
    [InlineData("a.example", "a.example.", true)]
    [InlineData("a.example", "b.a.example", true)]
    [InlineData("a.example", "ba.example", false)]
    [InlineData(".a.example", "b.a.example", true)]
    [InlineData(".a.example", "a.example", false)]
    [InlineData("*.a.example", "b.a.example", true)]
    [InlineData("b.example, a.example", "a.example", true)]
    [InlineData("b.example a.example", "a.example", true)]
    [InlineData("a.example:443", "a.example", true)]
    [InlineData("a.example:80", "a.example", false)]
    [InlineData("a.example:x", "a.example", false)]
    [InlineData("10.0.0.0/8", "10.1.2.3", true)]
    [InlineData("10.0.0.0/8", "11.1.2.3", false)]
    [InlineData("10.0.0.0/8", "a.example", false)]
    [InlineData("10.1.2.3", "10.1.2.3", true)]
    [InlineData("10.1.2.3:443", "10.1.2.3", true)]
    [InlineData("2001:db8::/32", "2001:db8::1", true)]
    [InlineData("[2001:db8::1]", "2001:db8::1", true)]
    [InlineData("[2001:db8::1]:443", "2001:db8::1", true)]
    [InlineData("[2001:db8::1]:80", "2001:db8::1", false)]
    [InlineData("1.2.3", "a.1.2.3", false)]
    [InlineData(",,:,::,[,]/,/8", "a.example", false)]
    public static void NO_PROXY_has_names_domains_addresses_and_networks(
        string? text, string host, bool isException) =>
        Assert.Equal(isException, new NoProxyList(text).Has(host, 443));

    [Theory]
    [InlineData("https://server.example:50051", "http://all:1/")]
    [InlineData("https://server.example:50051", "http://grpc:2/", "grpc_proxy", "http://grpc:2")]
    [InlineData("https://server.example:50051", "http://grpc:2/", "GRPC_PROXY", "grpc:2")]
    [InlineData("https://server.example:50051", null, "no_proxy", "example")]
    [InlineData("https://server.example:50051", null, "no_grpc_proxy", "example", "no_proxy", "other")]
    [InlineData("https://127.0.0.1:50051", null)]
    [InlineData("https://localhost:50051", null)]
    [InlineData("https://[::1]:50051", null)]
    public static void The_environment_of_gRPC_comes_before_that_of_all(
        string server, string? proxy, params string[] variables)
    {
        EnvironmentProxy found = new(
            isGrpc: true, new WebProxy("http://all:1"),
            name => Array.IndexOf(variables, name) is >= 0 and var at && at % 2 == 0
                ? variables[at + 1]
                : null);

        Assert.Equal(proxy, found.GetProxy(new Uri(server))?.ToString());
        Assert.Equal(proxy is null, found.IsBypassed(new Uri(server)));
    }

    [Fact]
    public static void A_user_in_the_address_is_its_credential()
    {
        WebProxy proxy = ProxyAddress.Read("http://us%40er:p%3Ass@proxy.example:3128")!;

        NetworkCredential user = proxy.Credentials!.GetCredential(proxy.Address!, "Basic")!;
        Assert.Equal(("us@er", "p:ss"), (user.UserName, user.Password));
        Assert.Equal("http://proxy.example:3128/", proxy.Address!.ToString());
        Assert.Null(ProxyAddress.Read("http://"));
        Assert.Null(ProxyAddress.Read(" "));
    }

    [Theory]
    [InlineData("HTTP/1.1 200 OK\r\n\r\n")]
    [InlineData("HTTP/1.0 200 Connection established\nVia: x\n\n")]
    [InlineData("HTTP/1.1 204\r\n\r\n")]
    public static async Task What_follows_the_head_is_of_the_server(string head)
    {
        using Played proxy = new(head + "server");

        Stream tunnel = await ProxyTunnel.OpenAsync(
            proxy, Route with { Credential = new("user", "pässword") }, Server, default);

        Assert.Equal("server", await new StreamReader(tunnel).ReadToEndAsync());
        Assert.Equal(
            "CONNECT server.example:50051 HTTP/1.1\r\nHost: server.example:50051\r\n"
            + "Proxy-Authorization: Basic dXNlcjpww6Rzc3dvcmQ=\r\n\r\n",
            proxy.Written);
    }

    [Theory]
    [InlineData("", "closed the connection")]
    [InlineData("HTTP/1.1 200 OK\r\n", "closed the connection")]
    [InlineData("220 mail.example ESMTP\r\n\r\n", "does not answer in HTTP")]
    [InlineData("\r\n\r\n", "does not answer in HTTP")]
    [InlineData("HTTP/1.1\r\n\r\n", "does not answer in HTTP")]
    [InlineData("HTTP/1.1 abc\r\n\r\n", "does not answer in HTTP")]
    [InlineData("HTTP/2 200\r\n\r\n", "does not answer in HTTP")]
    [InlineData("HTTP/1.1 403 Forbidden\r\n\r\n", "it answered '403 Forbidden'")]
    [InlineData("HTTP/1.1 503 \u001B[31mred\u0007\r\n\r\n", "it answered '503 ")]
    [InlineData("HTTP/1.1 301 Moved\r\nLocation: http://evil.example/\r\n\r\n", "'301 Moved'")]
    public static async Task Other_answers_are_errors_that_quote_them(string answer, string why)
    {
        using Played proxy = new(answer);

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => ProxyTunnel.OpenAsync(proxy, Route, Server, default));

        Assert.Equal(RpcErrorIds.ProxyRefused, error.ErrorId);
        Assert.Contains("through the proxy 'http://proxy.example:3128'", error.Message);
        Assert.Contains(why, error.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\u001B', error.Message);
        Assert.DoesNotContain('\u0007', error.Message);
    }

    [Fact]
    public static async Task A_head_without_an_end_is_read_up_to_a_limit()
    {
        using Played proxy = new("HTTP/1.1 200 OK\r\n" + new string('x', 10_000_000));

        await Assert.ThrowsAsync<RpcException>(
            () => ProxyTunnel.OpenAsync(proxy, Route, Server, default));

        Assert.InRange(proxy.ReadBytes, 1, 20_000);
    }

    /// <summary>A connection whose other side says something, whatever is written.</summary>
    private sealed class Played(string answer) : MemoryStream
    {
        private readonly byte[] _answer = Encoding.Latin1.GetBytes(answer);

        public int ReadBytes { get; private set; }

        public string Written => Encoding.Latin1.GetString(ToArray());

        public override ValueTask<int> ReadAsync(
            Memory<byte> buffer, CancellationToken cancellationToken = default)
        {
            int count = Math.Min(buffer.Length, _answer.Length - ReadBytes);
            _answer.AsSpan(ReadBytes, count).CopyTo(buffer.Span);
            ReadBytes += count;
            return ValueTask.FromResult(count);
        }
    }
}

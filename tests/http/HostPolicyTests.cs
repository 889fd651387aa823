using System.Net;

namespace ProtoRpc.Http.Tests;

/// <summary>Pages whose own name server gives the address of this machine
/// for their name (DNS rebinding).</summary>
public static class HostPolicyTests
{
    private const string Search = "/ProtoService.SearchService/Search?query=x";

    private static readonly HttpServerOptions Named = new()
    {
        AllowedHosts = ["Rpc.Example.com", "*.intern.example", "b\u00fccher.example", "fd00::1"],
    };

    public static TheoryData<string> Paths =>
        ["/", "/ProtoService.proto", "/parts/result.proto", Search, "/nothing",
            "/ProtoService.SearchService/Nope"];

    [Theory]
    [MemberData(nameof(Paths))]
    public static async Task A_foreign_name_gets_nothing_on_loopback(string path)
    {
        using SearchServer server = new();

        foreach (string method in new[] { "GET", "HEAD", "POST", "OPTIONS", "PUT" })
        {
            string answer = await AskAsync(server, $"{method} {path} HTTP/1.1\r\nHost: evil.example\r\n");

            Assert.StartsWith("HTTP/1.1 403 ", answer, StringComparison.Ordinal);
            Assert.DoesNotContain("SearchService", answer, StringComparison.Ordinal);
            Assert.DoesNotContain("access-control", answer, StringComparison.OrdinalIgnoreCase);
        }

        Assert.Equal(0, server.Server.Counters.Calls);
    }

    [Theory]
    [InlineData("evil.example")]
    [InlineData("evil.example:8080")]
    [InlineData("evil.example.")]
    [InlineData("localhost.evil.example")]
    [InlineData("evillocalhost")]
    [InlineData("127.0.0.1.evil.example")]
    [InlineData("192.0.2.1")]
    [InlineData("[2001:db8::1]")]
    [InlineData("0.0.0.0")]
    [InlineData("[::]")]
    [InlineData("localhost..")]
    [InlineData(".")]
    [InlineData("xlocalhost:80")]
    public static async Task Names_that_are_not_of_loopback_are_refused(string host)
    {
        using SearchServer server = new();

        string answer = await AskAsync(server, $"GET {Search} HTTP/1.1\r\nHost: {host}\r\n");

        Assert.Matches("^HTTP/1.1 40[03] ", answer);
        Assert.Equal(0, server.Server.Counters.Calls);
    }

    [Theory]
    [InlineData("localhost")]
    [InlineData("LOCALHOST:1")]
    [InlineData("localhost.")]
    [InlineData("shop.localhost")]
    [InlineData("a.b.localhost.:8080")]
    [InlineData("127.0.0.1")]
    [InlineData("127.0.0.1.")]
    [InlineData("127.8.9.10:99")]
    [InlineData("[::1]")]
    [InlineData("[::1]:5")]
    [InlineData("[0:0:0:0:0:0:0:1]")]
    [InlineData("[::ffff:127.0.0.1]")]
    public static async Task Names_of_loopback_are_served(string host)
    {
        using SearchServer server = new();

        string answer = await AskAsync(server, $"GET {Search} HTTP/1.1\r\nHost: {host}\r\n");

        Assert.StartsWith("HTTP/1.1 200 ", answer, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("GET {path} HTTP/1.1\r\n", "400")]
    [InlineData("GET {path} HTTP/1.1\r\nHost:\r\n", "403")]
    [InlineData("GET {path} HTTP/1.0\r\n", "403")]
    [InlineData("GET http://evil.example{path} HTTP/1.1\r\nHost: evil.example\r\n", "403")]
    [InlineData("GET http://evil.example{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n", "400")]
    [InlineData("GET http://127.0.0.1{path} HTTP/1.1\r\nHost: evil.example\r\n", "400")]
    [InlineData("GET http://localhost{path} HTTP/1.1\r\nHost: localhost\r\n", "200")]
    [InlineData("OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n", "403")]
    public static async Task The_name_is_looked_for_where_the_request_has_it(string request, string status)
    {
        using SearchServer server = new();

        string answer = await AskAsync(server, request.Replace("{path}", Search, StringComparison.Ordinal));

        Assert.StartsWith($"HTTP/1.1 {status} ", answer, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_refusal_says_which_name_and_what_to_do()
    {
        using SearchServer server = new();

        (_, string type, string text) = await server.GetAsync(
            Search, ("Host", "evil.example"), ("Accept", "application/json"));

        Assert.Equal("application/json", type);
        Assert.Contains("permission_denied", text, StringComparison.Ordinal);
        Assert.Contains("'evil.example'", text, StringComparison.Ordinal);
        Assert.Contains("AllowedHost", text, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("rpc.example.com", 200)]
    [InlineData("RPC.example.com.:8443", 200)]
    [InlineData("a.intern.example", 200)]
    [InlineData("a.b.intern.example", 200)]
    [InlineData("xn--bcher-kva.example", 200)]
    [InlineData("[fd00::1]:80", 200)]
    [InlineData("localhost", 200)]
    [InlineData("intern.example", 403)]
    [InlineData("evilintern.example", 403)]
    [InlineData("www.rpc.example.com", 403)]
    public static async Task The_names_of_the_list_are_served_too_on_loopback(string host, int status)
    {
        using SearchServer server = new(Named);

        string answer = await AskAsync(server, $"GET {Search} HTTP/1.1\r\nHost: {host}\r\n");

        Assert.StartsWith($"HTTP/1.1 {status} ", answer, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("rpc.example.com", 200)]
    [InlineData("127.0.0.1", 403)]
    [InlineData("evil.example", 403)]
    public static async Task Off_loopback_the_list_is_all_there_is(string host, int status)
    {
        using SearchServer server = new(
            Named with { AllowUnencrypted = true, AllowGet = true }, endpoint: "http://0.0.0.0:0/");

        string answer = await AskAsync(server, $"GET {Search} HTTP/1.1\r\nHost: {host}\r\n");

        Assert.StartsWith($"HTTP/1.1 {status} ", answer, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("evil.example", false)]
    [InlineData("anything.example", true)]
    public static async Task All_names_are_served_off_loopback_without_a_list_and_where_the_list_says_so(
        string host, bool isLoopback)
    {
        using SearchServer server = isLoopback
            ? new(new HttpServerOptions { AllowedHosts = ["*"] })
            : new(
                new HttpServerOptions { AllowUnencrypted = true, AllowGet = true },
                endpoint: "http://0.0.0.0:0/");

        string answer = await AskAsync(server, $"GET {Search} HTTP/1.1\r\nHost: {host}\r\n");

        Assert.StartsWith("HTTP/1.1 200 ", answer, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("")]
    [InlineData("http://rpc.example.com")]
    [InlineData("rpc.example.com:80")]
    [InlineData("rpc.example.com/x")]
    [InlineData("*.*.example")]
    [InlineData("*example.com")]
    [InlineData("a b")]
    public static void What_is_no_host_name_is_refused_when_the_listener_starts(string name)
    {
        RpcException error = Assert.Throws<RpcException>(
            () => new SearchServer(new HttpServerOptions { AllowedHosts = [name] }));

        Assert.Equal("InvalidAllowedHost", error.ErrorId);
        Assert.Contains($"'{name}'", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("application/grpc-web")]
    [InlineData("application/grpc-web-text")]
    public static async Task GRPC_Web_is_refused_as_well(string type)
    {
        using SearchServer server = new();

        (HttpStatusCode status, _, _) = await server.PostAsync(
            "/ProtoService.SearchService/Search", type, "AAAAAAA=", ("Host", "evil.example"));

        Assert.Equal(HttpStatusCode.Forbidden, status);
        Assert.Equal(0, server.Server.Counters.Calls);
    }

    [Theory]
    [InlineData("/streams.Words/Say")]
    [InlineData("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo")]
    [InlineData("/grpc.health.v1.Health/Check")]
    [InlineData("/nothing")]
    public static async Task GRPC_is_refused_by_its_authority(string path)
    {
        using WordsServer server = new();

        using HttpResponseMessage response = await server.PostAsync(
            WordsServer.Frame(WordsServer.Text("x")), path, headers: ("Host", "evil.example"));
        using HttpResponseMessage other = await server.PostAsync(
            WordsServer.Frame(WordsServer.Text("x")), headers: ("Host", "shop.localhost:50051"));
        using HttpResponseMessage json = await server.PostAsync(
            [], path, "application/json", headers: ("Host", "evil.example"));

        Assert.Equal("7", WordsServer.Find(response, "grpc-status"));
        Assert.Contains("evil.example", WordsServer.Find(response, "grpc-message"));
        Assert.Equal("0", WordsServer.Find(other, "grpc-status"));
        Assert.Equal(HttpStatusCode.Forbidden, json.StatusCode);
    }

    [Fact]
    public static void A_Unix_socket_answers_to_every_name()
    {
        string folder = Directory.CreateTempSubdirectory().FullName;
        try
        {
            using WordsServer server = new(
                $"grpc+unix://{folder}/words.sock", http: new HttpServerOptions
                { AllowedHosts = ["rpc.example.com"] });
            using RpcClient client = server.Connect(
                new RpcClientOptions { Tls = new RpcTlsOptions { ServerName = "evil.example" } });

            Assert.Equal(
                "x", WordsServer.TextOf(client.Invoke(client.GetMethod("Say"), WordsServer.Text("x"))));
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }

    private static Task<string> AskAsync(SearchServer server, string head) =>
        BareClient.ExchangeAsync(server, $"{head}Connection: close\r\n\r\n");
}

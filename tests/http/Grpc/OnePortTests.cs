using System.Collections;
using System.Collections.Concurrent;
using System.Net;
using System.Net.Http.Headers;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using System.Text;

namespace ProtoRpc.Http.Tests.Grpc;

/// <summary>A port answers HTTP/1.1 and HTTP/2, with and without TLS, and all protocols that its endpoints
/// have.</summary>
public sealed class OnePortTests : IDisposable
{
    private static readonly Version Http11 = HttpVersion.Version11;
    private static readonly Version Http2 = HttpVersion.Version20;
    private static readonly byte[] Get =
        "GET /streams.Words/Say?text=x HTTP/1.1\r\nHost: localhost\r\n\r\n"u8.ToArray();

    private readonly X509Certificate2 _certificate = TestCertificate.Create("CN=localhost", "127.0.0.1");
    private readonly HttpClient _http = new(new SocketsHttpHandler
    {
        UseProxy = false,
        SslOptions = { RemoteCertificateValidationCallback = static (_, _, _, _) => true },
    });

    public void Dispose()
    {
        _http.Dispose();
        _certificate.Dispose();
    }

    [Theory]
    [InlineData("http", "grpc")]
    [InlineData("https", "grpcs")]
    public async Task An_HTTP_endpoint_alone_answers_everything(string scheme, string grpc)
    {
        using WordsServer server = new($"{scheme}://127.0.0.1:0/", OptionsOf(scheme));

        await AnswersAllAsync(server, scheme, grpc);

        Assert.Equal([server.Endpoint], server.Server.Endpoints);
    }

    [Theory]
    [InlineData("http", "grpc", true)]
    [InlineData("http", "grpc", false)]
    [InlineData("https", "grpcs", true)]
    [InlineData("https", "grpcs", false)]
    public async Task Endpoints_of_both_kinds_share_a_port(string scheme, string grpc, bool grpcFirst)
    {
        int port = ClosedPort.FindFree();
        string[] endpoints = [$"{scheme}://127.0.0.1:{port}/", $"{grpc}://127.0.0.1:{port}"];
        using WordsServer server = new(
            endpoints[grpcFirst ? 1 : 0], OptionsOf(scheme),
            further: endpoints[grpcFirst ? 0 : 1]);

        await AnswersAllAsync(server, scheme, grpc);

        Assert.Equal(endpoints.Order(), server.Server.Endpoints.Select(e => e.Uri).Order());
        await server.Server.StopAsync().WaitAsync(TimeSpan.FromSeconds(30));
    }

    [Fact]
    public void Port_0_is_another_port_for_each_endpoint()
    {
        using WordsServer server = new("http://127.0.0.1:0/", further: "grpc://127.0.0.1:0");

        Assert.Equal(2, server.Server.Endpoints.Select(endpoint => endpoint.Port).Distinct().Count());
    }

    [Fact]
    public async Task A_gRPC_endpoint_alone_answers_only_gRPC()
    {
        using WordsServer server = new();

        (HttpStatusCode json, _) = await SayAsync(server, "http", Http2);
        string http1 = await AnswerAsync(server.Endpoint, Get);

        Assert.Equal(HttpStatusCode.UnsupportedMediaType, json);
        Assert.StartsWith("HTTP/1.1 400", http1, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("http://", "grpc://")]
    [InlineData("grpc://", "http://")]
    public async Task One_of_two_endpoints_without_TLS_can_go_and_come_back(string goes, string stays)
    {
        using WordsServer server = new($"{goes}127.0.0.1:0");
        RpcEndpoint first = server.Endpoint;
        RpcEndpoint second = RpcEndpoint.Parse($"{stays}127.0.0.1:{first.Port}");
        RpcEndpoint grpc = RpcEndpoint.Parse($"grpc://127.0.0.1:{first.Port}");
        await server.Server.ChangeAsync(new() { Endpoints = [first, second] });
        Assert.Equal(HttpStatusCode.OK, (await SayAsync(server, "http", Http11)).Status);
        Assert.Equal("both", Call(grpc, "both"));

        await server.Server.ChangeAsync(new() { Endpoints = [second] });

        // A connection of its own: one that is open keeps its version.
        string alone = await AnswerAsync(second, Get);
        Assert.StartsWith($"HTTP/1.1 {(stays == "http://" ? 200 : 400)}", alone, StringComparison.Ordinal);
        Assert.Equal("alone", Call(grpc, "alone"));

        await server.Server.ChangeAsync(new() { Endpoints = [second, first] });

        string back = await AnswerAsync(second, Get);
        Assert.StartsWith("HTTP/1.1 200", back, StringComparison.Ordinal);
        Assert.Equal("back", Call(grpc, "back"));
    }

    [Fact]
    public async Task Paths_of_gRPC_begin_with_the_path_of_the_endpoint()
    {
        using WordsServer server = new("http://127.0.0.1:0/api/");
        byte[] body = WordsServer.Frame(WordsServer.Text("x"));

        using HttpResponseMessage inside = await server.PostAsync(body, "/api/streams.Words/Say");
        using HttpResponseMessage outside = await server.PostAsync(body);

        Assert.Equal("0", WordsServer.Find(inside, "grpc-status"));
        Assert.Equal("12", WordsServer.Find(outside, "grpc-status"));
    }

    [Fact]
    public async Task REST_is_answered_over_both_versions()
    {
        using RestServer server = new();

        foreach (Version version in new[] { Http11, Http2 })
        {
            using HttpRequestMessage request = New(
                HttpMethod.Get, new Uri(new Uri(server.Server.Endpoints[0].Uri), "/v1/shelves/a"), version);
            (HttpStatusCode status, _, string text) = await _http.AnswerAsync(request);

            Assert.Equal(HttpStatusCode.OK, status);
            Assert.Contains("GetShelf", text, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task The_access_log_names_the_endpoint_of_each_call()
    {
        ConcurrentQueue<RpcAccessLogEntry> entries = new();
        int port = ClosedPort.FindFree();
        using (WordsServer server = new(
            $"http://127.0.0.1:{port}/", new() { AccessLog = RpcAccessLog.To(entries.Enqueue) }))
        {
            Call(RpcEndpoint.Parse($"grpc://127.0.0.1:{port}"), "first");
            await server.Server.ChangeAsync(new()
            {
                Endpoints = [server.Endpoint, RpcEndpoint.Parse($"grpc://127.0.0.1:{port}")],
            });
            Call(RpcEndpoint.Parse($"grpc://127.0.0.1:{port}"), "second");
            await SayAsync(server, "http", Http2);
        }

        Assert.Equal(
            [$"http://127.0.0.1:{port}/", $"grpc://127.0.0.1:{port}", $"http://127.0.0.1:{port}/"],
            entries.Where(entry => entry.Method == "streams.Words/Say")
                .Select(entry => entry.Endpoint.Uri));
    }

    [Fact]
    public async Task Callers_that_must_authenticate_by_NTLM_get_no_HTTP2()
    {
        RpcServerSecurity security = new()
        {
            Authentication = RpcAuthentication.Ntlm,
            NtlmAccounts = [NtlmAccount.From(new NetworkCredential("ann", "secret"))],
        };
        using WordsServer server = new("http://127.0.0.1:0/", new() { Security = security });

        Assert.Throws<RpcException>(
            () => Call(RpcEndpoint.Parse($"grpc://127.0.0.1:{server.Endpoint.Port}"), "x"));
        await Assert.ThrowsAsync<HttpRequestException>(() => SayAsync(server, "http", Http2));
        Assert.Equal(0, server.Server.Counters.Calls);
    }

    [Fact]
    public void A_wrong_path_names_services_only_to_those_who_may_use_reflection()
    {
        using WordsServer open = new("http://127.0.0.1:0/");
        using WordsServer hidden = new("http://127.0.0.1:0/", null, new() { EnableReflection = false });
        RpcAuthorization rules = RpcAuthorization.FromRules(new Hashtable { ["*"] = "*" });
        using WordsServer ruled = new("http://127.0.0.1:0/", new() { Interceptors = [rules] });

        Assert.Contains("The services are", MissingAt(open));
        Assert.DoesNotContain("The services are", MissingAt(hidden));
        Assert.DoesNotContain("The services are", MissingAt(ruled));
    }

    private static string MissingAt(WordsServer server)
    {
        using RpcClient client = RpcClient.Connect(
            $"grpc://127.0.0.1:{server.Endpoint.Port}/nowhere", WordsServer.Schema,
            new() { Service = "streams.Words" });
        return Assert.Throws<RpcException>(() => client.Invoke("Say", WordsServer.Text("x"))).Message;
    }

    private RpcServerOptions OptionsOf(string scheme) =>
        scheme == "https" ? new() { Certificate = _certificate } : new();

    private async Task AnswersAllAsync(WordsServer server, string scheme, string grpc)
    {
        foreach (Version version in new[] { Http11, Http2 })
        {
            (HttpStatusCode status, string json) = await SayAsync(server, scheme, version);
            Assert.Equal(HttpStatusCode.OK, status);
            Assert.Contains("\"hi\"", json, StringComparison.Ordinal);
        }

        foreach (string client in new[] { grpc, $"grpcweb{scheme[4..]}", $"connect{scheme[4..]}" })
        {
            Assert.Equal("hi", Call(RpcEndpoint.Parse($"{client}://127.0.0.1:{server.Endpoint.Port}"), "hi"));
        }

        Assert.True(server.Server.Counters.Accepted >= 5);
    }

    private async Task<(HttpStatusCode Status, string Text)> SayAsync(
        WordsServer server, string scheme, Version version)
    {
        Uri address = new($"{scheme}://127.0.0.1:{server.Endpoint.Port}/streams.Words/Say");
        using HttpRequestMessage request = New(HttpMethod.Post, address, version);
        request.Content = new StringContent(
            "{\"text\":\"hi\"}", Encoding.UTF8, new MediaTypeHeaderValue("application/json"));
        (HttpStatusCode status, _, string text) = await _http.AnswerAsync(request);
        return (status, text);
    }

    private string Call(RpcEndpoint endpoint, string text)
    {
        using RpcClient client = RpcClient.Connect(
            endpoint, WordsServer.Schema,
            new() { Service = "streams.Words", Tls = new() { CaCertificates = [_certificate] } });
        return WordsServer.TextOf(client.Invoke(client.GetMethod("Say"), WordsServer.Text(text)));
    }

    private static async Task<string> AnswerAsync(RpcEndpoint endpoint, byte[] request)
    {
        using CancellationTokenSource end = new(TimeSpan.FromSeconds(20));
        using TcpClient tcp = new();
        await tcp.ConnectAsync("127.0.0.1", endpoint.Port, end.Token);
        await tcp.GetStream().WriteAsync(request, end.Token);
        using StreamReader reader = new(tcp.GetStream(), Encoding.ASCII);
        return await reader.ReadLineAsync(end.Token) ?? "";
    }

    private static HttpRequestMessage New(HttpMethod method, Uri address, Version version) =>
        new(method, address) { Version = version, VersionPolicy = HttpVersionPolicy.RequestVersionExact };
}

using System.Diagnostics;
using System.Net;
using System.Security.Cryptography.X509Certificates;
using Google.Protobuf;

namespace ProtoRpc.Http.Tests;

/// <summary>Clients that are sent to a port of another protocol: they say at once what it speaks, and what to
/// write instead.</summary>
public sealed class WrongProtocolTests : IDisposable
{
    private readonly X509Certificate2 _certificate = NewCertificate();
    private readonly SearchServer _plain = new();
    private readonly SearchServer _tls;
    private readonly WordsServer _grpc = new();
    private readonly WordsServer _grpcs;

    public WrongProtocolTests()
    {
        RpcServerOptions options = new() { Certificate = _certificate };
        _tls = new SearchServer(null, options, "https://127.0.0.1:0/");
        _grpcs = new WordsServer("grpcs://127.0.0.1:0", options);
    }

    public void Dispose()
    {
        _plain.Dispose();
        _tls.Dispose();
        _grpc.Dispose();
        _grpcs.Dispose();
        _certificate.Dispose();
    }

    [Theory]
    [InlineData("http", "grpc", "Use grpc://127.0.0.1:")]
    [InlineData("http", "https", "Use https://127.0.0.1:")]
    [InlineData("http", "native", "Use ncacn_ip_tcp:127.0.0.1[")]
    [InlineData("https", "http", "Use http://127.0.0.1:")]
    [InlineData("https", "grpc", "Use grpc://127.0.0.1:")]
    [InlineData("https", "native", "Use ncacn_ip_tcp:127.0.0.1[")]
    [InlineData("tcp", "http", "Use http://127.0.0.1:")]
    [InlineData("tcp", "grpc", "Use grpc://127.0.0.1:")]
    [InlineData("tcp", "https", "https://127.0.0.1:")]
    [InlineData("grpc", "https", "")]
    [InlineData("grpc", "native", "Use ncacn_ip_tcp:127.0.0.1[")]
    [InlineData("grpcs", "http", "Use http://127.0.0.1:")]
    [InlineData("grpcs", "grpc", "Use grpc://127.0.0.1:")]
    [InlineData("grpcs", "native", "Use ncacn_ip_tcp:127.0.0.1[")]
    public async Task It_is_named_at_once_with_what_to_use(string client, string server, string wanted)
    {
        int port = server switch
        {
            "http" => _plain.Endpoint.Port,
            "https" => _tls.Endpoint.Port,
            "grpc" => _grpc.Endpoint.Port,
            _ => _plain.Server.Endpoints[1].Port,
        };
        string endpoint =
            $"{client}://127.0.0.1:{port}{(client.StartsWith("http", StringComparison.Ordinal) ? "/" : "")}";
        long start = Stopwatch.GetTimestamp();

        RpcException blocking = Assert.Throws<RpcException>(() => Call(endpoint));
        TimeSpan took = Stopwatch.GetElapsedTime(start);
        RpcException waiting = await Assert.ThrowsAsync<RpcException>(() => CallAsync(endpoint));

        foreach (RpcException error in new[] { blocking, waiting })
        {
            Assert.Equal("WrongProtocol", error.ErrorId);
            Assert.Contains(wanted, error.Message, StringComparison.Ordinal);
            Assert.DoesNotContain("ResponseEnded", error.Message, StringComparison.Ordinal);
            Assert.DoesNotContain("frame size", error.Message, StringComparison.Ordinal);
        }

        Assert.True(took < TimeSpan.FromSeconds(5), $"It took {took}.");
        Assert.Equal(0, _plain.Server.Counters.Calls);
    }

    [Theory]
    [InlineData("https")]
    [InlineData("grpcs")]
    public void A_server_that_is_not_trusted_is_told_the_same_way_everywhere(string scheme)
    {
        RpcEndpoint endpoint = scheme == "https" ? _tls.Endpoint : _grpcs.Endpoint;

        RpcException error = Assert.Throws<RpcException>(() => Call(endpoint.Uri));

        Assert.Equal("CertificateNotTrusted", error.ErrorId);
        Assert.Contains("CN=localhost", error.Message, StringComparison.Ordinal);
        Assert.Contains("RpcTlsOptions.CaCertificates", error.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("UntrustedRoot", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Trust_over_https_is_by_authority_name_and_leave()
    {
        Assert.Equal("CertificateNotTrusted", Assert.Throws<RpcException>(() => Call(_tls.Endpoint.Uri, new()
        {
            CaCertificates = [_certificate],
            ServerName = "other.example",
        })).ErrorId);
        Assert.NotNull(
            Call(_tls.Endpoint.Uri, new() { CaCertificates = [_certificate], ServerName = "localhost" }));
        Assert.NotNull(Call(_tls.Endpoint.Uri, new() { SkipCertificateCheck = true }));
    }

    [Fact]
    public async Task A_listener_on_loopback_answers_to_the_names_of_its_certificate()
    {
        using X509Certificate2 certificate = NewCertificate("rpc.example");
        using SearchServer server = new(
            null, new RpcServerOptions { Certificate = certificate }, "https://127.0.0.1:0/");
        RpcTlsOptions tls = new() { CaCertificates = [certificate], ServerName = "rpc.example" };

        (HttpStatusCode own, _, _) = await server.GetAsync("/", ("Host", "rpc.example"));
        (HttpStatusCode foreign, _, _) = await server.GetAsync("/", ("Host", "evil.example"));

        Assert.NotNull(Call(server.Endpoint.Uri, tls));
        Assert.Equal(HttpStatusCode.OK, own);
        Assert.Equal(HttpStatusCode.Forbidden, foreign);
    }

    [Fact]
    public void An_interface_that_is_not_served_is_told_by_the_name_of_its_service()
    {
        RpcException error = Assert.Throws<RpcException>(() => RpcClient.Connect(
            _plain.Server.Endpoints[1], WordsServer.Schema,
            new RpcClientOptions { Service = "streams.Words" }));

        Assert.Equal(RpcStatusCode.Unimplemented, error.Code);
        Assert.Contains("'streams.Words'", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(null)]
    [InlineData("application/x-www-form-urlencoded")]
    public async Task JSON_without_its_type_is_answered_with_the_type_to_send(string? type)
    {
        (HttpStatusCode status, _, string text) = await _plain.PostAsync(
            "/ProtoService.SearchService/Search", type, "\n {\"query\":\"x\"}",
            ("Accept", "application/json"));
        (HttpStatusCode form, _, _) = await _plain.PostAsync(
            "/ProtoService.SearchService/Search", "application/x-www-form-urlencoded", "query={x}");

        Assert.Equal(HttpStatusCode.UnsupportedMediaType, status);
        Assert.Contains("send Content-Type: application/json", text, StringComparison.Ordinal);
        Assert.Equal(HttpStatusCode.OK, form);
    }

    private static IMessage Request() =>
        MessageFormats.Json.Read(SearchServer.RequestType, """{"query":"x"}""");

    private static IMessage Call(string endpoint, RpcTlsOptions? tls = null)
    {
        using RpcClient client = RpcClient.Connect(
            endpoint, SearchServer.Schema, new RpcClientOptions { Tls = tls ?? new() });
        return client.Invoke(client.GetMethod("Search"), Request());
    }

    private static async Task<IMessage> CallAsync(string endpoint)
    {
        using RpcClient client =
            RpcClient.Connect(endpoint, SearchServer.Schema, new RpcClientOptions { Lazy = true });
        return await client.InvokeAsync(client.GetMethod("Search"), Request());
    }

    private static X509Certificate2 NewCertificate(string name = "localhost") =>
        TestCertificate.Create($"CN={name}", name);
}

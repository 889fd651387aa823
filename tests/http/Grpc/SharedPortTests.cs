using System.Net;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.Http.Tests.Grpc;

/// <summary>TLS: of gRPC alone, and with HTTP on the same port.</summary>
public sealed class SharedPortTests : IDisposable
{
    private readonly X509Certificate2 _certificate = NewCertificate();

    public void Dispose() => _certificate.Dispose();

    [Fact]
    public void A_client_that_trusts_the_certificate_calls_over_TLS()
    {
        using WordsServer server = new("grpcs://127.0.0.1:0", options: new() { Certificate = _certificate });
        using RpcClient client = server.Connect(new() { Tls = new() { CaCertificates = [_certificate] } });

        Assert.Equal("|False|Privacy|True", Say(client, "who"));
        Assert.Equal(
            RpcStatusCode.Unavailable, Assert.Throws<RpcException>(() => server.Connect().Invoke(
                client.GetMethod("Say"), WordsServer.Text("x"))).Code);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task HTTP_and_gRPC_share_a_port(bool grpcFirst)
    {
        int port = ClosedPort.FindFree();
        string[] endpoints = [$"grpcs://127.0.0.1:{port}", $"https://127.0.0.1:{port}/"];
        using WordsServer server = new(
            endpoints[grpcFirst ? 0 : 1], options: new() { Certificate = _certificate },
            further: endpoints[grpcFirst ? 1 : 0]);
        using RpcClient client = RpcClient.Connect(
            RpcEndpoint.Parse(endpoints[0]), WordsServer.Schema,
            new() { Service = "streams.Words", Tls = new() { CaCertificates = [_certificate] } });
        using HttpClient http = new(new SocketsHttpHandler
        {
            SslOptions = { RemoteCertificateValidationCallback = static (_, _, _, _) => true },
        });

        foreach (Version version in new[] { HttpVersion.Version11, HttpVersion.Version20 })
        {
            using HttpRequestMessage request = new(
                HttpMethod.Get, $"https://127.0.0.1:{port}/streams.Words/Say?text=web")
            {
                Version = version,
                VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            };
            using HttpResponseMessage response = await http.SendAsync(request);
            Assert.Contains("web", await response.Content.ReadAsStringAsync());
        }

        Assert.Equal("grpc", Say(client, "grpc"));
        Assert.Equal(3, server.Server.Counters.Accepted);
        await server.Server.StopAsync().WaitAsync(TimeSpan.FromSeconds(30));
    }

    [Theory]
    [InlineData("https://", "grpcs://")]
    [InlineData("grpcs://", "https://")]
    public async Task One_of_two_endpoints_of_a_port_can_go_and_come_back(string goes, string stays)
    {
        using WordsServer server = new($"{goes}127.0.0.1:0", options: new() { Certificate = _certificate });
        RpcEndpoint first = server.Endpoint;
        RpcEndpoint second = RpcEndpoint.Parse($"{stays}127.0.0.1:{first.Port}");
        await server.Server.ChangeAsync(new() { Endpoints = [first, second] });
        using RpcClient client = Connect(second);
        Assert.Equal("both", Say(client, "both"));

        await server.Server.ChangeAsync(new() { Endpoints = [second] });

        Assert.Equal("one", Say(client, "one"));
        using RpcClient later = Connect(second);
        Assert.Equal("later", Say(later, "later"));
        if (stays == "https://")
        {
            // HTTP endpoints answer gRPC as well.
            Assert.Equal("still", Say(Connect(first), "still"));
        }
        else
        {
            Assert.Throws<RpcException>(() => Say(Connect(first), "gone"));
        }

        Assert.InRange(server.Server.Counters.Accepted, 2, 9);

        await server.Server.ChangeAsync(new() { Endpoints = [second, first] });

        using RpcClient back = Connect(first);
        Assert.Equal("back", Say(back, "back"));

        await server.Server.ChangeAsync(new() { Endpoints = [RpcEndpoint.Parse("grpcs://127.0.0.1:0")] });

        Assert.Throws<RpcException>(() => Say(Connect(second), "closed"));
        await server.Server.StopAsync().WaitAsync(TimeSpan.FromSeconds(30));
    }

    [Fact]
    public void The_same_endpoint_twice_is_refused()
    {
        int port = ClosedPort.FindFree();

        Assert.Equal(RpcStatusCode.AlreadyExists, Assert.Throws<RpcException>(() => new WordsServer(
            $"grpcs://127.0.0.1:{port}", options: new() { Certificate = _certificate },
            further: $"grpcs://127.0.0.1:{port}")).Code);
    }

    [Fact]
    public async Task Tokens_prove_who_calls_and_nobody_else_does()
    {
        HttpServerOptions http = new()
        {
            Security = new()
            {
                Bearer = (token, _) => ValueTask.FromResult<System.Security.Principal.IIdentity?>(
                    token == "good" ? new System.Security.Principal.GenericIdentity("ann", "Bearer") : null),
            },
        };
        using WordsServer server = new(http: http);
        using RpcClient client = server.Connect(
            new() { Headers = new() { { "authorization", "Bearer good" } } });

        using HttpResponseMessage response = await server.PostAsync(WordsServer.Frame(WordsServer.Text("x")));

        Assert.StartsWith("ann|", Say(client, "who"), StringComparison.Ordinal);
        Assert.Equal("16", WordsServer.Find(response, "grpc-status"));
    }

    private RpcClient Connect(RpcEndpoint endpoint) => RpcClient.Connect(
        endpoint, WordsServer.Schema,
        new() { Service = "streams.Words", Lazy = true, Tls = new() { CaCertificates = [_certificate] } });

    private static string Say(RpcClient client, string text) =>
        WordsServer.TextOf(client.Invoke(client.GetMethod("Say"), WordsServer.Text(text)));

    private static X509Certificate2 NewCertificate() => TestCertificate.Create("CN=localhost", "127.0.0.1");
}

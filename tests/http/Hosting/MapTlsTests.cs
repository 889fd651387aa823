using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using Microsoft.AspNetCore.Hosting;
using Shop;

namespace ProtoRpc.Http.Tests.Hosting;

/// <summary>TLS on the endpoints of an application, and on those of its server.</summary>
public sealed class MapTlsTests : IDisposable
{
    private const string Name = "shop.test";

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-hosting-");
    private readonly byte[] _pfx = TestCertificate.CreatePfx("secret", $"CN={Name}", [Name, "127.0.0.1"]);
    private readonly X509Certificate2 _certificate;

    private static RpcSchema Schema { get; } = RpcSchema.FromDescriptors(OrdersReflection.Descriptor);

    public MapTlsTests() => _certificate = TestCertificate.Load(_pfx, "secret");

    public void Dispose()
    {
        _certificate.Dispose();
        _folder.Delete(recursive: true);
    }

    [Theory]
    [InlineData("grpcs", "127.0.0.1", null)]
    [InlineData("grpcs", "127.0.0.1", Name)]
    [InlineData("https", "127.0.0.1", null)]
    [InlineData("https", "127.0.0.1", Name)]
    public async Task One_port_with_tls_serves_http_and_grpc(string scheme, string host, string? name)
    {
        await using HostedApp app = await StartAsync();
        await using RpcClient client = await RpcClient.ConnectAsync(
            $"{scheme}://{host}:{PortOf(app)}", Schema, Trusting(name));

        Assert.Equal("a  Place", (await PlaceAsync(client)).Id);
        Assert.Equal(3, await client.InvokeServerStreamAsync<OrderEvent>(
            "Watch", new WatchRequest { Id = "w" }).CountAsync());
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    public async Task The_version_of_http_is_agreed_by_alpn(int version)
    {
        await using HostedApp app = await StartAsync();

        using HttpResponseMessage answer = await PostAsync(app, "127.0.0.1", new Version(version, 0));

        Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
        Assert.Equal(version == 1 ? HttpVersion.Version11 : HttpVersion.Version20, answer.Version);
    }

    [Theory]
    [InlineData(Name, HttpStatusCode.OK)]
    [InlineData("evil.example", HttpStatusCode.Forbidden)]
    public async Task On_loopback_the_names_of_the_applications_certificate_are_names_of_the_server(
        string name, HttpStatusCode expected)
    {
        await using HostedApp app = await StartAsync();

        using HttpResponseMessage answer = await PostAsync(app, name, HttpVersion.Version11);

        Assert.Equal(expected, answer.StatusCode);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task The_certificate_of_the_section_is_that_of_the_servers_own_endpoints(bool isPem)
    {
        string path = Path.Combine(_folder.FullName, "server");
        List<(string, string)> settings =
        [
            ("ProtoRpc:Endpoints:0", "tcp://127.0.0.1:0"), ("ProtoRpc:Endpoints:1", "grpcs://127.0.0.1:0"),
            ("ProtoRpc:Endpoints:2", "https://127.0.0.1:0/"), ("ProtoRpc:UseTls", "true"),
            ("ProtoRpc:Certificate:Path", path),
        ];
        if (isPem)
        {
            using RSA key = _certificate.GetRSAPrivateKey()!;
            File.WriteAllText(path, _certificate.ExportCertificatePem());
            File.WriteAllText(path + ".key", key.ExportPkcs8PrivateKeyPem());
            settings.Add(("ProtoRpc:Certificate:KeyPath", path + ".key"));
        }
        else
        {
            File.WriteAllBytes(path, _pfx);
            settings.Add(("ProtoRpc:Certificate:Password", "secret"));
        }

        await using HostedApp app = await HostedApp.StartAsync(null, null, [.. settings]);

        Assert.Equal(3, app.Server.Endpoints.Count);
        foreach (RpcEndpoint endpoint in app.Server.Endpoints)
        {
            await using RpcClient client = await RpcClient.ConnectAsync(
                endpoint, Schema, Trusting(null) with { UseTls = endpoint.IsNative });
            Assert.Equal("a  Place", (await PlaceAsync(client)).Id);
        }
    }

    [Fact]
    public async Task A_wrong_password_of_the_certificate_is_an_error_of_its_path()
    {
        string path = Path.Combine(_folder.FullName, "server.pfx");
        File.WriteAllBytes(path, _pfx);

        Exception error = await Assert.ThrowsAnyAsync<Exception>(() => HostedApp.StartAsync(
            null, null, ("ProtoRpc:Certificate:Path", path), ("ProtoRpc:Certificate:Password", "guess")));

        Assert.Contains("'ProtoRpc:Certificate:Path' cannot be used", error.Message);
        Assert.DoesNotContain("guess", error.Message);
    }

    [Fact]
    public async Task An_endpoint_with_tls_and_no_certificate_ends_the_start()
    {
        RpcException error = await Assert.ThrowsAsync<RpcException>(() => HostedApp.StartAsync(
            null, null, ("ProtoRpc:Endpoints:0", "grpcs://127.0.0.1:0")));

        Assert.Equal("MissingCertificate", error.ErrorId);
    }

    private static Task<PlaceReply> PlaceAsync(RpcClient client) => client.InvokeAsync<PlaceReply>(
        "Place", new PlaceRequest { Order = new Order { Id = "a" } });

    // The endpoint with TLS is the last.
    private static int PortOf(HostedApp app) => new Uri(app.Application.Urls.Last()).Port;

    private static async Task<HttpResponseMessage> PostAsync(HostedApp app, string host, Version version)
    {
        using HttpClient http = new(new SocketsHttpHandler
        {
            UseProxy = false,
            SslOptions = { RemoteCertificateValidationCallback = delegate { return true; } },
        });
        using HttpRequestMessage request = new(
            HttpMethod.Post, $"https://127.0.0.1:{PortOf(app)}/shop.Orders/Place")
        {
            Version = version,
            VersionPolicy = HttpVersionPolicy.RequestVersionOrLower,
            Headers = { Host = host },
            Content = new StringContent("""{"order":{"id":"a"}}""", Encoding.UTF8, "application/json"),
        };
        return await http.SendAsync(request);
    }

    private RpcClientOptions Trusting(string? name) => new()
    {
        Tls = new() { CaCertificates = [_certificate], ServerName = name },
    };

    private Task<HostedApp> StartAsync() => HostedApp.StartAsync(
        builder =>
        {
            HostedApp.AddOrders(builder);
            builder.WebHost.ConfigureKestrel(kestrel => kestrel.Listen(
                IPAddress.Loopback, 0, listen => listen.UseHttps(_certificate)));
        },
        map => map.MapProtoRpc());
}

using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Security.Principal;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http;
using ProtoRpc.AspNetCore.Http;
using ProtoRpc.Http.Tests.Tool;

namespace ProtoRpc.Http.Tests;

/// <summary>Certificates of an authority as proof of the caller, checks that fail, and the advice to a
/// rejected client.</summary>
public static class CallerProofTests
{
    private const string Https = "https://127.0.0.1:0/";
    private const string Grpcs = "grpcs://127.0.0.1:0";
    private const string ForServers = "1.3.6.1.5.5.7.3.1";

    private static readonly string SchemaFile =
        Path.Combine(AppContext.BaseDirectory, "protos", "ProtoService.proto");

    private static readonly X509Certificate2 Own = TestCertificate.Create("CN=localhost", "127.0.0.1");
    private static readonly X509Certificate2 Authority = NewAuthority();
    private static readonly X509Certificate2 Right = Issue(Authority, "CN=ann");

    [Theory]
    [InlineData(Https)]
    [InlineData(Grpcs)]
    public static void A_certificate_of_the_authority_is_the_caller(string endpoint)
    {
        using SearchServer server = Serve(endpoint, new() { ClientCaCertificates = [Authority] });

        Assert.Equal("ann", Who(server, Right));
    }

    [Theory]
    [InlineData(Https, "none")]
    [InlineData(Https, "foreign")]
    [InlineData(Https, "expired")]
    [InlineData(Https, "not yet valid")]
    [InlineData(Https, "of a server")]
    [InlineData(Https, "self-signed with the authority's name")]
    [InlineData(Https, "the authority")]
    [InlineData(Grpcs, "none")]
    [InlineData(Grpcs, "foreign")]
    [InlineData(Grpcs, "expired")]
    public static void Every_other_certificate_is_rejected_before_the_check(string endpoint, string kind)
    {
        using X509Certificate2 foreign = NewAuthority();
        using X509Certificate2? shown = kind switch
        {
            "none" => null,
            "foreign" => Issue(foreign, "CN=ann"),
            "expired" => Issue(Authority, "CN=ann", -5, -1),
            "not yet valid" => Issue(Authority, "CN=ann", 1, 5),
            "of a server" => Issue(
                Authority, "CN=ann", -1, 1, new X509EnhancedKeyUsageExtension([new Oid(ForServers)], true)),
            "the authority" => new X509Certificate2(Authority),
            _ => TestCertificate.Create(Authority.Subject),
        };
        int checks = 0;
        using SearchServer server = Serve(endpoint, new()
        {
            ClientCaCertificates = [Authority],
            ClientCertificate = (_, _) =>
            {
                checks++;
                return new(new GenericIdentity("anyone"));
            },
        });

        RpcException error = Assert.Throws<RpcException>(() => Who(server, shown));

        Assert.Equal(RpcStatusCode.Unauthenticated, error.Code);
        Assert.Equal(0, checks);
        Assert.Equal(0, server.Server.Counters.Calls);
    }

    [Theory]
    [InlineData(Https)]
    [InlineData(Grpcs)]
    public static void The_check_decides_about_certificates_of_the_authority(string endpoint)
    {
        using X509Certificate2 other = Issue(Authority, "CN=bob");
        using SearchServer server = Serve(endpoint, new()
        {
            ClientCaCertificates = [Authority],
            ClientCertificate = (certificate, _) => new(
                certificate.Subject == "CN=ann" ? new GenericIdentity("Ann of the check") : null),
        });

        Assert.Equal("Ann of the check", Who(server, Right));
        Assert.Throws<RpcException>(() => Who(server, other));
    }

    // As behind a proxy that forwards the certificates of its clients.
    [Fact]
    public static async Task Each_certificate_of_a_connection_is_checked_against_its_authorities()
    {
        using X509Certificate2 otherAuthority = NewAuthority();
        using X509Certificate2 ofOther = Issue(otherAuthority, "CN=eve");
        using X509Certificate2 expired = Issue(Authority, "CN=ann", -5, -1);
        HttpAuthentication server = Authentication(Authority);
        HttpAuthentication otherServer = Authentication(otherAuthority);
        DefaultConnectionContext connection = new();

        for (int i = 0; i < 2; i++)
        {
            Assert.Equal("ann", (await CheckAsync(server, Right)).User.Name);
            await Assert.ThrowsAsync<HttpRefusal>(() => CheckAsync(server, ofOther));
            await Assert.ThrowsAsync<HttpRefusal>(() => CheckAsync(server, expired));
            await Assert.ThrowsAsync<HttpRefusal>(() => CheckAsync(otherServer, Right));
            Assert.Equal("eve", (await CheckAsync(otherServer, ofOther)).User.Name);
            Assert.Equal("eve", (await CheckAsync(otherServer, ofOther)).User.Name);
        }

        async Task<PeerIdentity> CheckAsync(HttpAuthentication authentication, X509Certificate2 shown)
        {
            DefaultHttpContext http = new();
            http.Features.Set<IConnectionItemsFeature>(connection);
            http.Connection.ClientCertificate = shown;
            return await authentication.CheckAsync(http, PeerIdentity.Anonymous(""));
        }
    }

    private static HttpAuthentication Authentication(X509Certificate2 authority) => new(
        new HttpServerSecurity { ClientCaCertificates = [authority] }, allowsAnonymous: false,
        RpcEndpoint.Parse(Https));

    [Fact]
    public static void No_authority_accepts_no_certificate()
    {
        using SearchServer server = Serve(Https, new() { ClientCaCertificates = [] });

        RpcException error = Assert.Throws<RpcException>(() => Who(server, Right));

        Assert.Equal(RpcStatusCode.Unauthenticated, error.Code);
    }

    [Fact]
    public static void A_certificate_without_a_common_name_is_not_anonymous()
    {
        using X509Certificate2 nameless = Issue(Authority, "");

        Assert.NotEqual("", CallerCertificate.NameOf(nameless));
        Assert.Equal("ann", CallerCertificate.NameOf(Right));
    }

    [Theory]
    [InlineData(Https, "password", false)]
    [InlineData(Https, "token", false)]
    [InlineData(Https, "certificate", true)]
    [InlineData(Grpcs, "password", true)]
    [InlineData(Grpcs, "token", false)]
    [InlineData(Grpcs, "certificate", false)]
    public static void A_check_that_throws_rejects_the_caller(string endpoint, string proof, bool later)
    {
        using SearchServer server = Serve(endpoint, new()
        {
            Basic = (_, _) => Fail(later),
            Bearer = (_, _) => Fail(later),
            ClientCertificate = (_, _) => Fail(later),

            // What is presented and fails is not served like an anonymous call. Clients present a password
            // only after a challenge, which anonymous callers do not get.
            AllowAnonymous = proof != "password",
        });

        RpcException error = RejectionOf(server, proof);

        Assert.NotNull(error.CorrelationId);
        Assert.DoesNotContain("table of users", error.Message, StringComparison.Ordinal);
        Assert.Equal(0, server.Server.Counters.Calls);
    }

    [Theory]
    [InlineData(Https, "nothing", "certificates", "--cert")]
    [InlineData(Https, "password", "certificates", "--cert")]
    [InlineData(Https, "token", "certificates", "--cert")]
    [InlineData(Https, "certificate", "certificates", null)]
    [InlineData(Grpcs, "nothing", "certificates", "--cert")]
    [InlineData(Grpcs, "token", "certificates", "--cert")]
    [InlineData(Grpcs, "certificate", "certificates", null)]
    [InlineData(Https, "nothing", "tokens and certificates", "--bearer or --cert")]
    [InlineData(Https, "password", "tokens and certificates", "--bearer or --cert")]
    [InlineData(Https, "token", "tokens and certificates", null)]
    [InlineData(Grpcs, "certificate", "tokens and certificates", null)]
    [InlineData(Https, "certificate", "passwords", "--user")]
    [InlineData(Https, "token", "passwords", "--user")]
    [InlineData(Grpcs, "password", "passwords", null)]
    public static async Task A_rejected_client_is_advised_what_the_server_accepts_unless_that_was_wrong(
        string endpoint, string proof, string accepted, string? advised)
    {
        using SearchServer server = Serve(endpoint, accepted switch
        {
            "certificates" => new() { ClientCertificate = (_, _) => default },
            "passwords" => new() { Basic = (_, _) => default },
            _ => new() { Bearer = (_, _) => default, ClientCertificate = (_, _) => default },
        });
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-");
        try
        {
            (string certificate, string key) = ToolProcess.WriteCertificate(folder.FullName, "eve");
            string[] presented = proof switch
            {
                "password" => ["--user", "a:b"],
                "token" => ["--bearer", "env:TOKEN"],
                "certificate" => ["--cert", certificate, "--key", key],
                _ => [],
            };

            ClientRun run = await ClientRun.RunAsync(
                [
                    "call", $"{server.Endpoint}", "Who", "--set", "query=x", "--schema", SchemaFile,
                    "--insecure", .. presented,
                ],
                environment: new() { ["TOKEN"] = "t" });

            Assert.Contains("Unauthenticated: ", run.Error, StringComparison.Ordinal);
            Assert.Equal(
                advised is null ? [] : [$"To authenticate, use {advised}."],
                run.Error.Split('\n').Select(line => line.Trim())
                    .Where(line => line.StartsWith("To authenticate", StringComparison.Ordinal)));
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    private static RpcException RejectionOf(SearchServer server, string proof) =>
        Assert.Throws<RpcException>(() => Who(
            server, proof == "certificate" ? Right : null,
            proof switch
            {
                "password" => new()
                {
                    Authentication = RpcClientAuthentication.User,
                    Credential = new("a", "b"),
                },
                "token" => new() { Authentication = RpcClientAuthentication.Bearer, Token = "t" },
                _ => new(),
            }));

    private static async ValueTask<IIdentity?> Fail(bool later)
    {
        if (later)
        {
            await Task.Yield();
        }

        throw new InvalidOperationException("The table of users is gone.");
    }

    private static SearchServer Serve(string endpoint, HttpServerSecurity security) =>
        new(new() { Security = security }, new() { Certificate = Own }, endpoint);

    private static string Who(
        SearchServer server, X509Certificate2? certificate, RpcClientSecurity? security = null)
    {
        using RpcClient client = RpcClient.Connect(server.Endpoint, SearchServer.Schema, new()
        {
            Security = security ?? new(),
            Tls = new() { CaCertificates = [Own], ClientCertificate = certificate },
        });
        DynamicMessage reply = client.Invoke(
            client.GetMethod("Who"), MessageFormats.Json.Read(SearchServer.RequestType, """{"query":"x"}"""));
        DynamicMessage found = ((IEnumerable<object>)reply["result"]!).Cast<DynamicMessage>().Single();
        return (string)found["url"]!;
    }

    private static X509Certificate2 NewAuthority() => TestCertificate.Create(
        "CN=authority", [], -10, 10, new X509BasicConstraintsExtension(true, false, 0, critical: true));

    private static X509Certificate2 Issue(
        X509Certificate2 issuer, string subject, int from = -1, int to = 1,
        params X509Extension[] extensions)
    {
        using RSA key = TestCertificate.NewKey();
        CertificateRequest request = new(subject, key, HashAlgorithmName.SHA256, RSASignaturePadding.Pkcs1);
        foreach (X509Extension extension in extensions)
        {
            request.CertificateExtensions.Add(extension);
        }

        DateTimeOffset now = DateTimeOffset.UtcNow;
        using X509Certificate2 bare = request.Create(
            issuer, now.AddDays(from), now.AddDays(to), Guid.NewGuid().ToByteArray());
        return TestCertificate.WithKey(bare, key);
    }
}

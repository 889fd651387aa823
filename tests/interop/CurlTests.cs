using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Security.Principal;

namespace ProtoRpc.Interop;

/// <summary>curl at our HTTP endpoints: formats, and every way to say who calls.</summary>
[Collection(nameof(KerberosRealm))]
[PeerCall(
    "curl", "HTTP", PeerSide.Client, PeerCalls.Unary | PeerCalls.Errors | PeerCalls.Tls
        | PeerCalls.ClientCertificates | PeerCalls.Passwords | PeerCalls.Tokens | PeerCalls.Kerberos)]
public sealed class CurlTests(KerberosRealm realm)
{
    private const string Who = "ProtoService.SearchService/Who?query=x";
    private const string Search = "ProtoService.SearchService/Search";

    private static readonly NetworkCredential Bob = new("bob", "Pa55word", "CORP");

    [PeerTheory(Peer.Curl)]
    [InlineData(
        "200 {\"result\":[{\"url\":\"http://example.com/a\"}]}",
        "-H", "Content-Type: application/json", "-d", "{\"query\":\"a\"}")]
    [InlineData("200 <root><result><url>http://example.com/a</url></result></root>", "-d", "query=a")]
    [InlineData(
        "200 {\"result\":[{\"url\":\"http://example.com/a\"}]}",
        "-H", "Accept: application/json", "-d", "query=a")]
    [InlineData("200 ", "-I")]
    [InlineData("204 ", "-X", "OPTIONS")]
    public static async Task Calls_in_every_format_that_it_writes(string expected, params string[] arguments)
    {
        using SearchServer server = new();
        string path = arguments.Contains("-d") ? Search : $"{Search}?query=a";

        string said = await RunAsync(server, path, arguments);

        Assert.StartsWith(expected, said, StringComparison.Ordinal);
    }

    [PeerTheory(Peer.Curl)]
    [InlineData("200", "ann", "--basic", "-u", "ann:p:w")]
    [InlineData("200", "ann", "--anyauth", "-u", "ann:p:w")]
    [InlineData("200", "robot", "--oauth2-bearer", "secret")]
    [InlineData("401", "", "--basic", "-u", "ann:guess")]
    [InlineData("401", "", "--oauth2-bearer", "guess")]
    [InlineData("401", "")]
    public static async Task Proves_itself_by_password_and_token(
        string status, string user, params string[] arguments)
    {
        HttpServerOptions http = new()
        {
            Security = new HttpServerSecurity
            {
                Basic = (credential, _) =>
                    Name(credential is { UserName: "ann", Password: "p:w" } ? "ann" : null),
                Bearer = (token, _) => Name(token == "secret" ? "robot" : null),
            },
        };
        using SearchServer server = new(http);

        string said = await RunAsync(server, Who, arguments);

        Assert.StartsWith(status, said, StringComparison.Ordinal);
        Assert.Contains(user, said, StringComparison.Ordinal);
        server.Server.RequireCounts(counts => counts.Calls == (status == "200" ? 1 : 0));
    }

    // It knows NTLM without session security of 128 bits, and nothing weaker is spoken here.
    [PeerFact(Peer.Curl)]
    public static async Task Its_weak_ntlm_is_refused()
    {
        using SearchServer server = new(options: Demanding(RpcAuthentication.Ntlm));

        string said = await RunAsync(server, Who, "--ntlm", "-u", @"CORP\bob:Pa55word");

        Assert.StartsWith("401", said, StringComparison.Ordinal);
        Assert.Equal(0, server.Server.Counters.Calls);
    }

    [PeerFact(Peer.Kdc)]
    public async Task Proves_itself_by_its_ticket()
    {
        using SearchServer server = new(options: Demanding(RpcAuthentication.Negotiate));
        realm.UseTickets("none");
        string without = await RunAsync(server, Who, "--negotiate", "-u", ":");

        realm.LogIn("1h");
        string with = await RunAsync(server, Who, "--negotiate", "-u", ":");

        Assert.StartsWith("401", without, StringComparison.Ordinal);
        Assert.StartsWith("200", with, StringComparison.Ordinal);
        Assert.Contains($"{KerberosRealm.User}@{KerberosRealm.Realm}", with, StringComparison.Ordinal);
    }

    [PeerFact(Peer.Kdc)]
    public void Our_own_client_proves_itself_by_its_ticket()
    {
        realm.LogIn("1h");
        using SearchServer server = new(options: Demanding(RpcAuthentication.Negotiate));
        RpcClientOptions options = new()
        {
            Security = new RpcClientSecurity { Authentication = RpcClientAuthentication.Self },
        };
        using RpcClient client = RpcClient.Connect(server.Endpoint, SearchServer.Schema, options);

        DynamicMessage reply = client.Invoke(
            client.GetMethod("Who"), MessageFormats.Json.Read(SearchServer.RequestType, """{"query":"x"}"""));

        Assert.Contains(
            $"{KerberosRealm.User}@{KerberosRealm.Realm}", MessageFormats.Json.ToText(reply),
            StringComparison.Ordinal);
    }

    [PeerFact(Peer.Curl)]
    public static async Task Proves_itself_by_certificate_over_tls()
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("curl");
        try
        {
            string theirs = Path.Combine(folder.FullName, "client.pem");
            string other = Path.Combine(folder.FullName, "other.pem");
            string authority = Path.Combine(folder.FullName, "server.pem");
            using X509Certificate2 ours = WriteCertificate(authority, "CN=localhost");
            using X509Certificate2 known = WriteCertificate(theirs, "CN=known client");
            using X509Certificate2 unknown = WriteCertificate(other, "CN=unknown client");
            HttpServerOptions http = new()
            {
                Security = new HttpServerSecurity
                {
                    ClientCertificate = (certificate, _) =>
                        Name(certificate.Thumbprint == known.Thumbprint ? certificate.Subject : null),
                },
            };
            using SearchServer server = new(http, new() { Certificate = ours }, "https://127.0.0.1:0/");

            string with = await RunAsync(server, Who, "--cacert", authority, "--cert", theirs);
            string wrong = await RunAsync(server, Who, "--cacert", authority, "--cert", other);
            string without = await RunAsync(server, Who, "--cacert", authority);

            Assert.StartsWith("200 <root><result><url>CN=known client", with, StringComparison.Ordinal);
            Assert.StartsWith("401", wrong, StringComparison.Ordinal);
            Assert.StartsWith("401", without, StringComparison.Ordinal);
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    private static RpcServerOptions Demanding(RpcAuthentication authentication) => new()
    {
        Security = new RpcServerSecurity
        {
            Authentication = authentication,
            NtlmAccounts = authentication == RpcAuthentication.Ntlm ? [NtlmAccount.From(Bob)] : [],
        },
    };

    private static ValueTask<IIdentity?> Name(string? name) =>
        new(name is null ? null : new GenericIdentity(name, "Test"));

    private static async Task<string> RunAsync(SearchServer server, string path, params string[] arguments)
    {
        string body = arguments.Contains("-I") ? "/dev/null" : "-";
        using PeerProcess curl = PeerProcess.Start(
            "curl",
            [
                "-s", "-S", "--noproxy", "*", "-o", body, "-w", "\n%{http_code}",
                .. arguments, $"{server.Endpoint.Uri}{path}",
            ]);
        string said = await curl.ReadToEndAsync();
        int end = said.LastIndexOf('\n');
        return $"{said[(end + 1)..]} {said[..end]}";
    }

    // In one file with its key, for "localhost" and this machine's loopback address.
    private static X509Certificate2 WriteCertificate(string path, string name)
    {
        using RSA key = TestCertificate.NewKey();
        using X509Certificate2 certificate = TestCertificate.CreateBare(key, name, ["127.0.0.1"]);
        File.WriteAllText(path, $"{certificate.ExportCertificatePem()}\n{key.ExportPkcs8PrivateKeyPem()}\n");
        return TestCertificate.WithKey(certificate, key);
    }
}

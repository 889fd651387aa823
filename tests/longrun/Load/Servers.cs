using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Security.Principal;

namespace ProtoRpc.LongRun.Load;

/// <summary>The servers that stay for the whole run: an open one on all transports, one that requires NTLM,
/// and one with TLS that requires a proof.</summary>
internal sealed class Servers : IDisposable
{
    private const string Token = "token-of-the-long-run";
    private static readonly NetworkCredential Bob = new("bob", "Pa55word");

    private readonly X509Certificate2 _certificate = NewCertificate();
    private readonly List<WordsServer> _servers = [];

    public Servers()
    {
        RpcClientOptions open = new();
        string[] endpoints = [.. Schemes.Select(NewEndpoint)];
        WordsServer anonymous = new(endpoints[0], null, null, endpoints[1..]);
        _servers.Add(anonymous);
        Places.AddRange(anonymous.Server.Endpoints.Select(
            endpoint => new Place(endpoint.Uri.Split(':')[0], endpoint, open)));

        RpcServerSecurity byNtlm = new()
        {
            Authentication = RpcAuthentication.Ntlm,
            NtlmAccounts = [NtlmAccount.From(Bob)],
            MinimumLevel = RpcProtectionLevel.Privacy,
        };
        RpcClientSecurity asBob = new()
        {
            Authentication = RpcClientAuthentication.User,
            Credential = Bob,
            ProtectionLevel = RpcProtectionLevel.Privacy,
        };
        WordsServer signed = new("tcp://127.0.0.1:0", new() { Security = byNtlm });
        _servers.Add(signed);
        Places.Add(new("tcp, NTLM", signed.Endpoint, new() { Security = asBob }));
        AddEncrypted(byNtlm, asBob);
    }

    /// <summary>Schemes of endpoints that need neither a certificate nor a proof.</summary>
    public static IReadOnlyList<string> Schemes { get; } =
        ["local", "pipe", "tcp", "http", "grpc", "inproc"];

    public List<Place> Places { get; } = [];

    public long Calls => _servers.Sum(server => server.Server.Counters.Calls);

    /// <summary>A new endpoint of a scheme.</summary>
    public static string NewEndpoint(string scheme) => scheme switch
    {
        "local" or "inproc" => $"{scheme}://r{Guid.NewGuid().ToString("N")[..16]}",
        "pipe" => $"pipe://./r{Guid.NewGuid().ToString("N")[..16]}",
        "http" => "http://127.0.0.1:0/",
        _ => $"{scheme}://127.0.0.1:0",
    };

    public void Dispose()
    {
        _servers.ForEach(server => server.Dispose());
        _certificate.Dispose();
    }

    private void AddEncrypted(RpcServerSecurity byNtlm, RpcClientSecurity asBob)
    {
        HttpServerOptions http = new()
        {
            Security = new HttpServerSecurity
            {
                Basic = (given, _) => ValueTask.FromResult<IIdentity?>(
                    given.UserName == Bob.UserName && given.Password == Bob.Password
                        ? new GenericIdentity("bob", "Basic")
                        : null),
                Bearer = (token, _) => ValueTask.FromResult<IIdentity?>(
                    token == Token ? new GenericIdentity("robot", "Bearer") : null),
            },
        };
        RpcServerOptions options = new() { Certificate = _certificate, UseTls = true, Security = byNtlm };
        WordsServer encrypted = new(
            "tcp://127.0.0.1:0", options, http, "https://127.0.0.1:0/", "grpcs://127.0.0.1:0");
        _servers.Add(encrypted);

        RpcTlsOptions tls = new() { CaCertificates = [_certificate] };
        RpcClientSecurity byToken = new()
        {
            Authentication = RpcClientAuthentication.Bearer,
            Token = Token,
        };
        Add(0, "tcp, TLS, NTLM", new() { Security = asBob, Tls = tls, UseTls = true });
        Add(1, "https, password", new() { Security = asBob, Tls = tls });
        Add(2, "grpcs, token", new() { Security = byToken, Tls = tls });

        void Add(int index, string name, RpcClientOptions client) =>
            Places.Add(new(name, encrypted.Server.Endpoints[index], client));
    }

    private static X509Certificate2 NewCertificate()
    {
        using ECDsa key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        CertificateRequest request = new("CN=127.0.0.1", key, HashAlgorithmName.SHA256);
        SubjectAlternativeNameBuilder names = new();
        names.AddIpAddress(IPAddress.Loopback);
        request.CertificateExtensions.Add(names.Build());
        DateTimeOffset now = DateTimeOffset.UtcNow;
        using X509Certificate2 fresh = request.CreateSelfSigned(now.AddDays(-1), now.AddDays(2));

        // Windows does not take a key that lives in memory only.
        return X509CertificateLoader.LoadPkcs12(fresh.Export(X509ContentType.Pkcs12), null);
    }
}

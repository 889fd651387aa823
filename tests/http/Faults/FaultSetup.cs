using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.Http.Tests.Faults;

/// <summary>An endpoint, and what protects its conversations.</summary>
/// <param name="Endpoint">Where the server listens.</param>
/// <param name="Name">What the protection is called.</param>
internal sealed record FaultSetup(string Endpoint, string Name)
{
    public RpcServerOptions Server { get; init; } = new();

    public RpcClientOptions Client { get; init; } = new();

    /// <summary>Whether no octet of a request or a reply can change unseen.</summary>
    public bool IsProtected { get; init; }

    /// <summary>No protection: the caller is anonymous, or the system knows it.</summary>
    public static FaultSetup Plain(string endpoint) => new(endpoint, "none");

    public static FaultSetup Tls(string endpoint)
    {
        X509Certificate2 certificate = NewCertificate();

        // The names of the other endpoints say that they use it.
        bool isAsked = endpoint.StartsWith("ncacn_ip_tcp", StringComparison.Ordinal);
        return new FaultSetup(endpoint, "TLS")
        {
            Server = new RpcServerOptions { Certificate = certificate, UseTls = isAsked },
            Client = new RpcClientOptions
            {
                Tls = new RpcTlsOptions { CaCertificates = [certificate] },
                UseTls = isAsked,
            },
            IsProtected = true,
        };
    }

    public static FaultSetup Ntlm(string endpoint, RpcMechanism mechanism, RpcProtectionLevel level)
    {
        NetworkCredential bob = new("bob", "Pa55word", "CORP");
        return Authenticated(
            endpoint, mechanism, level,
            new RpcServerSecurity
            {
                Authentication = mechanism == RpcMechanism.Ntlm
                    ? RpcAuthentication.Ntlm
                    : RpcAuthentication.Negotiate,
                NtlmAccounts = [NtlmAccount.From(bob)],
            },
            new RpcClientSecurity
            {
                Authentication = RpcClientAuthentication.User,
                Credential = bob,
            }) with
        { Name = $"{(mechanism == RpcMechanism.Ntlm ? "NTLM" : "SPNEGO with NTLM")}, {level}" };
    }

    public static FaultSetup Authenticated(
        string endpoint, RpcMechanism mechanism, RpcProtectionLevel level, RpcServerSecurity server,
        RpcClientSecurity client) => new(endpoint, $"{mechanism}, {level}")
        {
            Server = new RpcServerOptions { Security = server with { MinimumLevel = level } },
            Client = new RpcClientOptions
            {
                Security = client with { Mechanism = mechanism, ProtectionLevel = level },
            },
            IsProtected = level >= RpcProtectionLevel.Integrity
                && endpoint.StartsWith("ncacn", StringComparison.Ordinal),
        };

    /// <summary>A certificate of 127.0.0.1 that signs itself.</summary>
    public static X509Certificate2 NewCertificate()
    {
        using ECDsa key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        CertificateRequest request = new("CN=localhost", key, HashAlgorithmName.SHA256);
        SubjectAlternativeNameBuilder names = new();
        names.AddIpAddress(IPAddress.Loopback);
        request.CertificateExtensions.Add(names.Build());
        using X509Certificate2 made = request.CreateSelfSigned(
            DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(1));
        return X509CertificateLoader.LoadPkcs12(
            made.Export(X509ContentType.Pkcs12), null, X509KeyStorageFlags.Exportable);
    }
}

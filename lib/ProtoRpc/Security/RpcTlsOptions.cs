using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc;

/// <summary>The TLS options of a client.</summary>
public sealed record RpcTlsOptions
{
    /// <summary>The trusted CA certificates, instead of the machine's; null for the machine's.</summary>
    public X509Certificate2Collection? CaCertificates { get; set; }

    /// <summary>The client certificate with its private key.</summary>
    public X509Certificate2? ClientCertificate { get; set; }

    /// <summary>The server name that the certificate must contain, instead of the endpoint's host.</summary>
    public string? ServerName { get; set; }

    /// <summary>Accepts any certificate. Anyone on the network path can then read and change
    /// everything.</summary>
    public bool SkipCertificateCheck { get; set; }
}

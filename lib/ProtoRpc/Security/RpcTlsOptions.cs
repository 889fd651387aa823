using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc;

/// <summary>How a client trusts and is trusted over TLS.</summary>
public sealed record RpcTlsOptions
{
    /// <summary>The authorities whose certificates are trusted, instead of those of the machine;
    /// null for those.</summary>
    public X509Certificate2Collection? CaCertificates { get; set; }

    /// <summary>The client's own certificate with its private key.</summary>
    public X509Certificate2? ClientCertificate { get; set; }

    /// <summary>The name that the server's certificate must have, instead of the endpoint's host.</summary>
    public string? ServerName { get; set; }

    /// <summary>Accepts any certificate. Anyone on the network path can then read and change
    /// everything.</summary>
    public bool SkipCertificateCheck { get; set; }
}

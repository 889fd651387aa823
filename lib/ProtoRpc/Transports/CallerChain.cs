using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.Transports;

/// <summary>How servers build the chains of their callers' certificates.</summary>
internal static class CallerChain
{
    /// <summary>A policy that asks no other machine.</summary>
    /// <remarks>Issuers and lists of revoked certificates would be fetched from any address in the
    /// certificate of an unknown caller.</remarks>
    public static X509ChainPolicy NewPolicy() => new()
    {
        RevocationMode = X509RevocationMode.NoCheck,
        DisableCertificateDownloads = true,
    };
}

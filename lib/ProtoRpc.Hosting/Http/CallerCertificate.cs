using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.Hosting.Http;

/// <summary>Tells certificates of callers from those of certificate authorities.</summary>
internal static class CallerCertificate
{
    /// <summary>Whether a certificate can issue others (RFC 5280, sections 4.2.1.3 and 4.2.1.9). A check that
    /// only builds the chain would accept the authority itself, and every authority below it.</summary>
    public static bool IsAuthority(X509Certificate2 certificate)
    {
        try
        {
            return certificate.Extensions.Any(static extension => extension switch
            {
                X509BasicConstraintsExtension basic => basic.CertificateAuthority,
                X509KeyUsageExtension usage => usage.KeyUsages.HasFlag(X509KeyUsageFlags.KeyCertSign),
                _ => false,
            });
        }
        catch (CryptographicException)
        {
            // An extension that cannot be read may say so.
            return true;
        }
    }
}

using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.Server;

/// <summary>Checks a certificate before it replaces that of a listening server. Otherwise a mistake would
/// only show in the TLS handshakes of clients.</summary>
internal static class ReplacedCertificate
{
    // id-kp-serverAuth and anyExtendedKeyUsage, RFC 5280 4.2.1.12.
    private static readonly string[] OfServers = ["1.3.6.1.5.5.7.3.1", "2.5.29.37.0"];

    /// <summary>The new TLS certificate; null if the change has none.</summary>
    /// <exception cref="RpcException">InvalidArgument: no server can use the certificate.</exception>
    public static SslStreamCertificateContext? Of(RpcServerChange change)
    {
        if (change.Certificate is not { } certificate)
        {
            return change.CertificateChain is null
                ? null
                : throw new RpcException(
                    RpcStatusCode.InvalidArgument,
                    "RpcServerChange.CertificateChain has no certificate. Set RpcServerChange.Certificate "
                    + "as well.")
                {
                    ErrorId = RpcErrorIds.MissingCertificate,
                };
        }

        try
        {
            return !certificate.HasPrivateKey ? throw Unusable(
                    certificate, "it has no private key", RpcErrorIds.MissingCertificate)
                : !IsForServers(certificate) ? throw Unusable(
                    certificate, "its extended key usage does not include server authentication",
                    RpcErrorIds.InvalidCertificate)
                : SslStreamCertificateContext.Create(certificate, change.CertificateChain);
        }
        catch (CryptographicException e)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"The certificate cannot be used: {e.Message.TrimEnd('.')}. Was it disposed of?", e)
            {
                ErrorId = RpcErrorIds.InvalidCertificate,
            };
        }
    }

    private static bool IsForServers(X509Certificate2 certificate)
    {
        X509EnhancedKeyUsageExtension[] usages =
            [.. certificate.Extensions.OfType<X509EnhancedKeyUsageExtension>()];
        return usages.Length == 0 || usages.Any(usage => usage.EnhancedKeyUsages.Cast<Oid>()
            .Any(oid => OfServers.Contains(oid.Value)));
    }

    private static RpcException Unusable(
        X509Certificate2 certificate, string why, string errorId) => new(
        RpcStatusCode.InvalidArgument,
        $"The certificate '{certificate.Subject}' cannot be used by a server: {why}.")
        {
            ErrorId = errorId,
        };
}

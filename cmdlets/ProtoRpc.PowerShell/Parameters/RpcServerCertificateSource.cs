using System.Management.Automation;
using System.Net;
using System.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.PowerShell;

/// <summary>What <c>-Certificate</c> of a listener takes: a certificate, the thumbprint of one in a store, or a file.</summary>
/// <remarks>The shell converts to it by its constructors; the file is read by the cmdlet, at its location.</remarks>
public sealed class RpcServerCertificateSource
{
    private readonly X509Certificate2? _certificate;
    private readonly string _text = "";

    /// <summary>A certificate that is there already.</summary>
    public RpcServerCertificateSource(X509Certificate2 certificate) => _certificate = certificate;

    /// <summary>A thumbprint, or the path of a .pfx or .pem file.</summary>
    public RpcServerCertificateSource(string thumbprintOrPath) => _text = thumbprintOrPath;

    /// <summary>A file.</summary>
    public RpcServerCertificateSource(FileInfo file) => _text = WildcardPattern.Escape(file.FullName);

    /// <summary>The certificate, with its private key.</summary>
    /// <param name="cmdlet">Knows where the shell is.</param>
    /// <param name="secret">The password of the file; null for none.</param>
    /// <exception cref="RpcException">NotFound or InvalidArgument: no such certificate, or it has no key.</exception>
    internal X509Certificate2 Load(RpcCmdlet cmdlet, SecureString? secret)
    {
        string? password = secret is null ? null : new NetworkCredential("", secret).Password;
        X509Certificate2 certificate = _certificate ?? (IsThumbprint ? FromStore() : FromFile(cmdlet, password));
        return certificate.HasPrivateKey ? certificate : throw Invalid("it has no private key");
    }

    private bool IsThumbprint => _text.Length is 40 or 64 && _text.All(char.IsAsciiHexDigit);

    private X509Certificate2 FromStore()
    {
        foreach (StoreLocation location in new[] { StoreLocation.CurrentUser, StoreLocation.LocalMachine })
        {
            try
            {
                using X509Store store = new(StoreName.My, location, OpenFlags.ReadOnly | OpenFlags.OpenExistingOnly);
                HashAlgorithmName hash = _text.Length == 40 ? HashAlgorithmName.SHA1 : HashAlgorithmName.SHA256;
                X509Certificate2Collection found = store.Certificates.FindByThumbprint(hash, _text);
                if (found.FirstOrDefault(c => c.HasPrivateKey) is { } certificate)
                {
                    return certificate;
                }
            }
            catch (CryptographicException)
            {
                // There is no such store for this account.
            }
        }

        throw new RpcException(
            RpcStatusCode.NotFound,
            $"No certificate with the thumbprint {_text} and a private key is in the My store of this user or machine.")
        {
            ErrorId = "CertificateNotFound",
        };
    }

    private X509Certificate2 FromFile(RpcCmdlet cmdlet, string? password)
    {
        string path = cmdlet.ResolveFile(_text);
        try
        {
            if (!File.ReadAllText(path).Contains("-----BEGIN", StringComparison.Ordinal))
            {
                return X509CertificateLoader.LoadPkcs12FromFile(path, password);
            }

            using X509Certificate2 pem = password is null
                ? X509Certificate2.CreateFromPemFile(path)
                : X509Certificate2.CreateFromEncryptedPemFile(path, password);

            // TLS of Windows does not take keys that are in memory alone.
            return X509CertificateLoader.LoadPkcs12(pem.Export(X509ContentType.Pkcs12), password: null);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or CryptographicException)
        {
            throw Invalid(e.Message.TrimEnd('.'), e);
        }
    }

    private RpcException Invalid(string why, Exception? inner = null) => new(
        RpcStatusCode.InvalidArgument,
        $"{(_certificate is null ? $"'{_text}'" : _certificate.Subject)} cannot be used as a certificate: {why}. "
        + "Give a .pfx file, a .pem file with certificate and key, a thumbprint of the My store, or an object.",
        inner)
    {
        ErrorId = "InvalidCertificate",
    };
}

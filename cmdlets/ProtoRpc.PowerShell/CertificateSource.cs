using System.Management.Automation;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.PowerShell;

/// <summary>What parameters of certificates take: a certificate, the path of a file with one, or a thumbprint.</summary>
/// <remarks>The shell converts to it by its constructors; the cmdlet reads the file.</remarks>
public sealed class CertificateSource
{
    private const int ThumbprintLength = 40;
    private readonly X509Certificate2? _certificate;
    private readonly string _text = "";

    /// <summary>A certificate that is there already.</summary>
    public CertificateSource(X509Certificate2 certificate) => _certificate = certificate;

    /// <summary>The path of a PFX or PEM file, or the thumbprint of a certificate in a store of the user or machine.
    /// </summary>
    public CertificateSource(string text) => _text = text;

    /// <exception cref="RpcException">NotFound: there is no such file or certificate, or it cannot be read.</exception>
    internal X509Certificate2 Read(PSCmdlet cmdlet)
    {
        if (_certificate is not null)
        {
            return _certificate;
        }

        if (_text.Length == ThumbprintLength && _text.All(char.IsAsciiHexDigit))
        {
            return Find(StoreLocation.CurrentUser) ?? Find(StoreLocation.LocalMachine)
                ?? throw Unreadable("neither the store My of the user nor that of the machine has it");
        }

        try
        {
            string path = cmdlet.GetUnresolvedProviderPathFromPSPath(_text);
            return X509Certificate2.GetCertContentType(path) == X509ContentType.Pkcs12
                ? X509CertificateLoader.LoadPkcs12FromFile(path, null)
                : X509CertificateLoader.LoadCertificateFromFile(path);
        }
        catch (Exception e) when (e is CryptographicException or IOException or UnauthorizedAccessException)
        {
            throw Unreadable(e.Message.TrimEnd('.'), e);
        }
    }

    private X509Certificate2? Find(StoreLocation location)
    {
        using X509Store store = new(StoreName.My, location);
        try
        {
            store.Open(OpenFlags.ReadOnly | OpenFlags.OpenExistingOnly);
            return store.Certificates.Find(X509FindType.FindByThumbprint, _text, validOnly: false).FirstOrDefault();
        }
        catch (CryptographicException)
        {
            // Not every system has every store.
            return null;
        }
    }

    private RpcException Unreadable(string why, Exception? cause = null) =>
        new(RpcStatusCode.NotFound, $"There is no certificate '{_text}': {why}.", cause)
        {
            ErrorId = "CertificateNotFound",
        };
}

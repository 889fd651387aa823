using System.Management.Automation;
using System.Net;
using System.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.PowerShell;

/// <summary>What every certificate parameter takes: a certificate, the path of a PFX or PEM file, or the
/// thumbprint of a certificate in a store of the user or the machine.</summary>
/// <remarks>The shell converts to it by its constructors; the file is read by the cmdlet,
/// at its location.</remarks>
public sealed class RpcCertificateSource
{
    private const string PemStart = "-----BEGIN";
    private static readonly StoreName[] OfKeys = [StoreName.My];
    private static readonly StoreName[] OfAuthorities =
        [StoreName.Root, StoreName.CertificateAuthority, StoreName.My];

    private static readonly StoreLocation[] Locations =
        [StoreLocation.CurrentUser, StoreLocation.LocalMachine];

    private readonly X509Certificate2? _certificate;
    private readonly string _text = "";

    /// <summary>A certificate that is there already.</summary>
    public RpcCertificateSource(X509Certificate2 certificate) => _certificate = certificate;

    /// <summary>The path of a file, or a thumbprint: its 40 digits of SHA-1, or 64 of SHA-256.</summary>
    public RpcCertificateSource(string pathOrThumbprint) => _text = pathOrThumbprint;

    /// <summary>A file.</summary>
    public RpcCertificateSource(FileInfo file) => _text = file.FullName;

    private bool IsThumbprint => _text.Length is 40 or 64 && _text.All(char.IsAsciiHexDigit);

    private string Name => _certificate?.Subject ?? _text;

    /// <summary>The certificate with its private key.</summary>
    /// <param name="cmdlet">Knows where the shell is.</param>
    /// <param name="secret">The password of the file; null for none.</param>
    /// <exception cref="RpcException">NotFound or InvalidArgument: there is no such certificate, or it has no
    /// key.</exception>
    internal X509Certificate2 ReadWithKey(PSCmdlet cmdlet, SecureString? secret = null)
    {
        string? password = secret is null ? null : new NetworkCredential("", secret).Password;
        X509Certificate2 certificate = _certificate
            ?? (IsThumbprint
                ? Find(OfKeys, c => c.HasPrivateKey, " and a private key")
                : Read(cmdlet, (file, isPem) => isPem ? ReadPem(file, password)
                    : X509CertificateLoader.LoadPkcs12FromFile(file, password)));
        return certificate.HasPrivateKey ? certificate : throw Invalid("it has no private key");
    }

    /// <summary>The certificates, whose keys are not needed: a file may hold several.</summary>
    /// <exception cref="RpcException">NotFound or InvalidArgument: there is no such certificate.</exception>
    internal X509Certificate2Collection ReadAll(PSCmdlet cmdlet)
    {
        if (_certificate is not null)
        {
            return [_certificate];
        }

        if (IsThumbprint)
        {
            return [Find(OfAuthorities, _ => true, "")];
        }

        X509Certificate2Collection all = Read<X509Certificate2Collection>(cmdlet, static (file, isPem) =>
        {
            if (!isPem)
            {
                return X509Certificate2.GetCertContentType(file) == X509ContentType.Pkcs12
                    ? X509CertificateLoader.LoadPkcs12CollectionFromFile(file, null)
                    : [X509CertificateLoader.LoadCertificateFromFile(file)];
            }

            X509Certificate2Collection certificates = [];
            certificates.ImportFromPemFile(file);
            return certificates;
        });
        return all.Count > 0 ? all : throw Invalid("it holds no certificate");
    }

    private static X509Certificate2 ReadPem(string file, string? password)
    {
        using X509Certificate2 pem = password is null
            ? X509Certificate2.CreateFromPemFile(file)
            : X509Certificate2.CreateFromEncryptedPemFile(file, password);

        // TLS of Windows does not take keys that are in memory alone.
        return X509CertificateLoader.LoadPkcs12(pem.Export(X509ContentType.Pkcs12), password: null);
    }

    private X509Certificate2 Find(StoreName[] names, Predicate<X509Certificate2> isWanted, string condition)
    {
        HashAlgorithmName hash = _text.Length == 40 ? HashAlgorithmName.SHA1 : HashAlgorithmName.SHA256;
        foreach (StoreName name in names)
        {
            foreach (StoreLocation location in Locations)
            {
                try
                {
                    using X509Store store = new(
                        name, location, OpenFlags.ReadOnly | OpenFlags.OpenExistingOnly);
                    X509Certificate2Collection found = store.Certificates.FindByThumbprint(hash, _text);
                    if (found.FirstOrDefault(c => isWanted(c)) is { } certificate)
                    {
                        return certificate;
                    }
                }
                catch (CryptographicException)
                {
                    // There is no such store for this account.
                }
            }
        }

        throw NotFound($"no certificate with this thumbprint{condition} "
            + $"is in a store {string.Join(", ", names)} of this user or machine");
    }

    private T Read<T>(PSCmdlet cmdlet, Func<string, bool, T> read)
    {
        try
        {
            string file = cmdlet.GetUnresolvedProviderPathFromPSPath(_text);
            return read(file, File.ReadAllText(file).Contains(PemStart, StringComparison.Ordinal));
        }
        catch (Exception e)
            when (e is FileNotFoundException or DirectoryNotFoundException or SessionStateException)
        {
            throw NotFound(e.Message.TrimEnd('.'), e);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or CryptographicException)
        {
            throw Invalid(e.Message.TrimEnd('.'), e);
        }
    }

    private RpcException NotFound(string why, Exception? cause = null) => new(
        RpcStatusCode.NotFound, $"There is no certificate '{_text}': {why}.", cause)
    {
        ErrorId = "CertificateNotFound",
    };

    private RpcException Invalid(string why, Exception? cause = null) => new(
        RpcStatusCode.InvalidArgument,
        $"'{Name}' cannot be used as a certificate: {why}. "
        + "Give a .pfx file, a .pem file with what is needed, the thumbprint of one in a store, "
        + "or a certificate.",
        cause)
    {
        ErrorId = "InvalidCertificate",
    };
}

using System.Net;
using System.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc;

/// <summary>The value of certificate parameters: a certificate, the path of a PFX or PEM file, or the
/// thumbprint of a certificate in a store of the user or the machine.</summary>
/// <remarks>The shell converts arguments with these constructors. The cmdlet reads the file, relative to the
/// shell's location.</remarks>
public sealed class RpcCertificateSource
{
    private const string PemStart = "-----BEGIN";
    private const string PemKey = "PRIVATE KEY-----";
    private const string LockedPemKey = "-----BEGIN ENCRYPTED PRIVATE KEY-----";

    // ERROR_INVALID_PASSWORD; .NET uses this value on all systems.
    private const int WrongPassword = unchecked((int)0x80070056);
    private static readonly StoreName[] OfKeys = [StoreName.My];
    private static readonly StoreName[] OfAuthorities =
        [StoreName.Root, StoreName.CertificateAuthority, StoreName.My];

    private static readonly StoreLocation[] Locations =
        [StoreLocation.CurrentUser, StoreLocation.LocalMachine];

    private readonly X509Certificate2? _certificate;
    private readonly string _text = "";
    private readonly string? _thumbprint;

    /// <summary>An existing certificate.</summary>
    public RpcCertificateSource(X509Certificate2 certificate) => _certificate = certificate;

    /// <summary>The path of a file, or a thumbprint: the 40 digits of SHA-1 or the 64 of SHA-256, optionally
    /// with colons or spaces as openssl and Windows show them.</summary>
    public RpcCertificateSource(string pathOrThumbprint)
    {
        _text = pathOrThumbprint;
        _thumbprint = ThumbprintOf(pathOrThumbprint);
    }

    /// <summary>A file.</summary>
    public RpcCertificateSource(FileInfo file) => _text = file.FullName;

    /// <summary>The path or thumbprint; empty for a certificate itself.</summary>
    internal string Text => _text;

    private string Name => _certificate?.Subject ?? _text;

    /// <summary>Reads the certificate with its private key.</summary>
    /// <param name="resolve">Resolves a path by the shell's rules.</param>
    /// <param name="secret">The password of the file; null for none.</param>
    /// <exception cref="RpcException">NotFound or InvalidArgument: the certificate does not exist, or has no
    /// private key.</exception>
    internal X509Certificate2 ReadWithKey(Func<string, string> resolve, SecureString? secret = null)
    {
        string? password = TextOf(secret);
        X509Certificate2 certificate = _certificate
            ?? (_thumbprint is not null
                ? Find(OfKeys, c => c.HasPrivateKey, " and a private key")
                : Read(resolve, (file, text) => IsPem(text) ? ReadPem(text, password)
                    : IsPfx(file) ? X509CertificateLoader.LoadPkcs12FromFile(file, password)
                    : X509CertificateLoader.LoadCertificateFromFile(file)));
        return certificate.HasPrivateKey ? certificate : throw Invalid("it has no private key");
    }

    /// <summary>Reads the CA certificates that a file contains besides the certificate with the key; null if
    /// the value is not a file.</summary>
    /// <param name="resolve">Resolves a path by the shell's rules.</param>
    /// <param name="secret">The password of the file; null for none.</param>
    /// <exception cref="RpcException">NotFound or InvalidArgument: the file cannot be read.</exception>
    internal X509Certificate2Collection? ReadChain(Func<string, string> resolve, SecureString? secret)
    {
        if (_certificate is not null || _thumbprint is not null)
        {
            return null;
        }

        string? password = TextOf(secret);
        return Read<X509Certificate2Collection>(resolve, (file, text) => IsPem(text)
            ? [.. AllOfPem(text).Skip(1)]
            :
            [
                .. X509CertificateLoader.LoadPkcs12CollectionFromFile(file, password)
                    .Where(certificate => !certificate.HasPrivateKey),
            ]);
    }

    /// <summary>Reads all certificates of the value, without keys. A file may contain several.</summary>
    /// <exception cref="RpcException">NotFound or InvalidArgument: the certificate does not
    /// exist.</exception>
    internal X509Certificate2Collection ReadAll(Func<string, string> resolve)
    {
        if (_certificate is not null)
        {
            return [_certificate];
        }

        if (_thumbprint is not null)
        {
            return [Find(OfAuthorities, _ => true, "")];
        }

        X509Certificate2Collection all = Read<X509Certificate2Collection>(resolve, static (file, text) =>
            IsPem(text) ? AllOfPem(text)
            : IsPfx(file) ? X509CertificateLoader.LoadPkcs12CollectionFromFile(file, null)
            : [X509CertificateLoader.LoadCertificateFromFile(file)]);
        return all.Count > 0 ? all : throw Invalid("it holds no certificate");
    }

    /// <summary>Whether a text is a thumbprint instead of a path.</summary>
    internal static bool IsThumbprint(string text) => ThumbprintOf(text) is not null;

    private static string? ThumbprintOf(string text)
    {
        string digits = text.Replace(":", "").Replace(" ", "");
        return digits.Length is 40 or 64 && digits.All(char.IsAsciiHexDigit) ? digits : null;
    }

    private static string? TextOf(SecureString? secret) =>
        secret is null ? null : new NetworkCredential("", secret).Password;

    private static X509Certificate2Collection AllOfPem(string text)
    {
        X509Certificate2Collection certificates = [];
        certificates.ImportFromPem(text);
        return certificates;
    }

    private static bool IsPem(string text) => text.Contains(PemStart, StringComparison.Ordinal);

    private static bool IsPfx(string file) =>
        X509Certificate2.GetCertContentType(file) == X509ContentType.Pkcs12;

    private X509Certificate2 ReadPem(string text, string? password)
    {
        if (!text.Contains(PemKey, StringComparison.Ordinal))
        {
            return X509Certificate2.CreateFromPem(text);
        }

        // The password may belong to another parameter's file, so it is only used for encrypted keys.
        bool isLocked = text.Contains(LockedPemKey, StringComparison.Ordinal);
        if (isLocked && password is null)
        {
            throw Locked("its private key needs a password");
        }

        using X509Certificate2 pem = isLocked
            ? X509Certificate2.CreateFromEncryptedPem(text, text, password)
            : X509Certificate2.CreateFromPem(text, text);

        // SChannel does not support keys that are only in memory.
        return X509CertificateLoader.LoadPkcs12(pem.Export(X509ContentType.Pkcs12), password: null);
    }

    private X509Certificate2 Find(StoreName[] names, Predicate<X509Certificate2> isWanted, string condition)
    {
        HashAlgorithmName hash = _thumbprint!.Length == 40
            ? HashAlgorithmName.SHA1
            : HashAlgorithmName.SHA256;
        foreach (StoreName name in names)
        {
            foreach (StoreLocation location in Locations)
            {
                try
                {
                    using X509Store store = new(
                        name, location, OpenFlags.ReadOnly | OpenFlags.OpenExistingOnly);
                    X509Certificate2Collection found =
                        store.Certificates.FindByThumbprint(hash, _thumbprint!);
                    if (found.FirstOrDefault(c => isWanted(c)) is { } certificate)
                    {
                        return certificate;
                    }
                }
                catch (CryptographicException)
                {
                    // This account has no such store.
                }
            }
        }

        throw NotFound($"no certificate with this thumbprint{condition} "
            + $"is in a store {string.Join(", ", names)} of this user or machine");
    }

    // PFX loaders need the file's path; PEM loaders need its text.
    private T Read<T>(Func<string, string> resolve, Func<string, string, T> read)
    {
        if (_text.Length == 0)
        {
            throw Invalid("the path is empty");
        }

        try
        {
            string file = PathOf(resolve);
            return read(file, File.ReadAllText(file));
        }
        catch (Exception e) when (e is FileNotFoundException or DirectoryNotFoundException)
        {
            throw NotFound(FileProblem.Describe(e, _text), e);
        }
        catch (CryptographicException e) when (e.HResult == WrongPassword)
        {
            throw Locked("its password is missing or wrong", e);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or CryptographicException)
        {
            throw Invalid(FileProblem.Describe(e, _text), e);
        }
    }

    private string PathOf(Func<string, string> resolve)
    {
        try
        {
            return resolve(_text);
        }
        catch (RpcException e)
        {
            throw NotFound((e.InnerException ?? e).Message.TrimEnd('.'), e);
        }
    }

    private RpcException NotFound(string why, Exception? cause = null) => new(
        RpcStatusCode.NotFound, RpcErrorIds.CertificateNotFound,
        $"There is no certificate '{_text}': {why}.", cause);

    private RpcException Invalid(string why, Exception? cause = null) => Invalid(
        why,
        "Give a .pfx file, a .pem file (with its private key, unless it is that of an authority), the "
        + "thumbprint of a certificate in a store, or a certificate.",
        cause);

    private RpcException Locked(string why, Exception? cause = null) => Invalid(
        why,
        "Read the file with Get-PfxCertificate, which asks for the password, and give the certificate that "
        + "it returns. For a listener, you can also set CertificatePassword of -ListenerOption.",
        cause);

    private RpcException Invalid(string why, string remedy, Exception? cause) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidCertificate,
        $"'{Name}' cannot be used as a certificate: {why}. {remedy}", cause);
}

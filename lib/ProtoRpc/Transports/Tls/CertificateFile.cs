using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.Transports.Tls;

/// <summary>Reads certificates from PEM and PFX files.</summary>
internal static class CertificateFile
{
    /// <summary>Reads a certificate with its key, and the other certificates in the file.</summary>
    /// <param name="path">A PFX file, or a PEM file.</param>
    /// <param name="keyPath">The PEM file of the key; null where the first file has it.</param>
    /// <param name="password">The password of the key; null or empty for none.</param>
    /// <exception cref="Exception">An exception for which <see cref="IsProblem"/> returns true: a file cannot
    /// be read, or contains no key.</exception>
    public static (X509Certificate2 Certificate, X509Certificate2Collection Chain) ReadWithKey(
        string path, string? keyPath, string? password = null)
    {
        string text = File.ReadAllText(path);
        X509Certificate2Collection all = [];
        if (!IsPem(text))
        {
            all = X509CertificateLoader.LoadPkcs12CollectionFromFile(path, password);
            return (
                all.FirstOrDefault(one => one.HasPrivateKey)
                    ?? throw new CryptographicException("it has no private key"),
                [.. all.Where(one => !one.HasPrivateKey)]);
        }

        all.ImportFromPem(text);
        string key = keyPath is null ? text : File.ReadAllText(keyPath);
        using X509Certificate2 pem = string.IsNullOrEmpty(password)
            ? X509Certificate2.CreateFromPem(text, key)
            : X509Certificate2.CreateFromEncryptedPem(text, key, password);

        // SChannel does not support keys that are only in memory.
        return (
            X509CertificateLoader.LoadPkcs12(pem.Export(X509ContentType.Pkcs12), password: null),
            [.. all.Skip(1)]);
    }

    public static bool IsPem(string text) => text.Contains("-----BEGIN ", StringComparison.Ordinal);

    /// <summary>Whether an exception means that a file cannot be read, or contains no such
    /// certificate.</summary>
    public static bool IsProblem(Exception error) =>
        error is IOException or UnauthorizedAccessException or CryptographicException or ArgumentException;
}

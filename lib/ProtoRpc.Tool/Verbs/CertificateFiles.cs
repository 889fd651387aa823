using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.Tool.Verbs;

/// <summary>Reads certificates from PEM and PFX files.</summary>
internal static class CertificateFiles
{
    private const string PemStart = "-----BEGIN";

    /// <summary>A certificate with its key, and the authorities beside it in the file.</summary>
    /// <param name="option">The option that names the file, for errors.</param>
    /// <param name="path">A PFX file without a password, or a PEM file.</param>
    /// <param name="keyPath">The PEM file of the key; null where the first file has it.</param>
    /// <exception cref="UsageException">A file cannot be read, or there is no key.</exception>
    public static (X509Certificate2 Certificate, X509Certificate2Collection Chain) ReadWithKey(
        string option, string path, string? keyPath) => Read(option, path, () =>
    {
        string text = File.ReadAllText(path);
        if (!text.Contains(PemStart, StringComparison.Ordinal))
        {
            X509Certificate2Collection pfx = X509CertificateLoader.LoadPkcs12CollectionFromFile(path, null);
            return (
                pfx.FirstOrDefault(one => one.HasPrivateKey)
                    ?? throw new CryptographicException("it has no private key"),
                new X509Certificate2Collection(pfx.Where(one => !one.HasPrivateKey).ToArray()));
        }

        X509Certificate2Collection all = [];
        all.ImportFromPem(text);
        using X509Certificate2 pem =
            X509Certificate2.CreateFromPem(text, keyPath is null ? text : File.ReadAllText(keyPath));

        // TLS of Windows does not take keys that are in memory alone.
        return (
            X509CertificateLoader.LoadPkcs12(pem.Export(X509ContentType.Pkcs12), password: null),
            new X509Certificate2Collection(all.Skip(1).ToArray()));
    });

    /// <summary>The certificates of authorities.</summary>
    /// <exception cref="UsageException">A file cannot be read, or holds no certificate.</exception>
    public static X509Certificate2Collection ReadAuthorities(string option, IEnumerable<string> paths)
    {
        X509Certificate2Collection all = [];
        foreach (string path in paths)
        {
            all.AddRange(Read(option, path, () =>
            {
                X509Certificate2Collection found = [];
                string text = File.ReadAllText(path);
                if (text.Contains(PemStart, StringComparison.Ordinal))
                {
                    found.ImportFromPem(text);
                }
                else
                {
                    found.Add(X509CertificateLoader.LoadCertificateFromFile(path));
                }

                return found.Count > 0 ? found : throw new CryptographicException("it has no certificate");
            }));
        }

        return all;
    }

    private static T Read<T>(string option, string path, Func<T> read)
    {
        try
        {
            return read();
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException
            or CryptographicException or ArgumentException)
        {
            throw new UsageException(
                $"{option} '{path}' cannot be used as a certificate: {FileProblem.Describe(e, path)}. "
                + "Give a PEM file, with the key in it or in the file of the key's option, "
                + "or a PFX file without a password.");
        }
    }
}

using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using ProtoRpc.Transports.Tls;

namespace ProtoRpc.Tool.Verbs;

/// <summary>Reads the certificates of options.</summary>
internal static class CertificateFiles
{
    /// <summary>Reads a certificate with its key, and the other certificates in the file.</summary>
    /// <param name="option">The option that names the file, for errors.</param>
    /// <param name="path">A PFX file without a password, or a PEM file.</param>
    /// <param name="keyPath">The PEM file of the key; null where the first file has it.</param>
    /// <exception cref="UsageException">A file cannot be read, or contains no key.</exception>
    public static (X509Certificate2 Certificate, X509Certificate2Collection Chain) ReadWithKey(
        string option, string path, string? keyPath) =>
        Read(option, path, () => CertificateFile.ReadWithKey(path, keyPath));

    /// <summary>The certificates of authorities.</summary>
    /// <exception cref="UsageException">A file cannot be read, or contains no certificate.</exception>
    public static X509Certificate2Collection ReadAuthorities(string option, IEnumerable<string> paths)
    {
        X509Certificate2Collection all = [];
        foreach (string path in paths)
        {
            all.AddRange(Read(option, path, () =>
            {
                X509Certificate2Collection found = [];
                string text = File.ReadAllText(path);
                if (CertificateFile.IsPem(text))
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
        catch (Exception e) when (CertificateFile.IsProblem(e))
        {
            throw new UsageException(
                $"{option} '{path}' cannot be used as a certificate: {FileProblem.Describe(e, path)}. "
                + "Give a PEM file, with the key in it or in the file of the key's option, "
                + "or a PFX file without a password.");
        }
    }
}

using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Microsoft.Extensions.Configuration;

namespace ProtoRpc.Hosting.Application;

/// <summary>Reads the certificate that a section of the configuration names.</summary>
internal static class CertificateFile
{
    private const string PemStart = "-----BEGIN ";

    /// <summary>The certificate with its key, and the authorities beside it in the file.</summary>
    /// <param name="section">Path, Password and KeyPath.</param>
    /// <param name="folder">What relative paths start from.</param>
    public static (X509Certificate2 Certificate, X509Certificate2Collection Chain)? Read(
        IConfigurationSection section, string folder)
    {
        if (!section.Exists())
        {
            return null;
        }

        string[] known = ["Path", "Password", "KeyPath"];
        foreach (IConfigurationSection entry in section.GetChildren())
        {
            if (!known.Contains(entry.Key, StringComparer.OrdinalIgnoreCase))
            {
                throw SectionReader.Unknown(entry, known);
            }
        }

        IConfigurationSection path = section.GetSection("Path");
        string file = PathOf(path, folder)
            ?? throw SectionReader.Invalid(path.Path, "it is missing; set it to the file of the certificate");
        string? password = SectionReader.TextOf(section.GetSection("Password"));
        IConfigurationSection keyPath = section.GetSection("KeyPath");
        try
        {
            string text = File.ReadAllText(file);
            (X509Certificate2 Certificate, X509Certificate2Collection Chain) read =
                text.Contains(PemStart, StringComparison.Ordinal)
                    ? OfPem(text, PathOf(keyPath, folder) is { } key ? File.ReadAllText(key) : text, password)
                    : OfPfx(file, password);
            return read.Certificate.HasPrivateKey
                ? read
                : throw SectionReader.Invalid(
                    path.Path, $"'{file}' has no private key; set KeyPath to the file of the key");
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException
            or CryptographicException or ArgumentException)
        {
            throw SectionReader.Invalid(path.Path, $"'{file}' cannot be read: {FileProblem.Of(e, file)}");
        }
    }

    private static string? PathOf(IConfigurationSection section, string folder) =>
        SectionReader.TextOf(section) is { Length: > 0 } path ? Path.Combine(folder, path) : null;

    private static (X509Certificate2 Certificate, X509Certificate2Collection Chain) OfPem(
        string certificates, string key, string? password)
    {
        X509Certificate2Collection all = [];
        all.ImportFromPem(certificates);
        using X509Certificate2 pem = string.IsNullOrEmpty(password)
            ? X509Certificate2.CreateFromPem(certificates, key)
            : X509Certificate2.CreateFromEncryptedPem(certificates, key, password);

        // TLS of Windows does not take keys that are in memory alone.
        return (
            X509CertificateLoader.LoadPkcs12(pem.Export(X509ContentType.Pkcs12), password: null),
            [.. all.Skip(1)]);
    }

    private static (X509Certificate2 Certificate, X509Certificate2Collection Chain) OfPfx(
        string file, string? password)
    {
        X509Certificate2Collection all = X509CertificateLoader.LoadPkcs12CollectionFromFile(file, password);
        X509Certificate2 certificate = all.FirstOrDefault(c => c.HasPrivateKey)
            ?? throw new CryptographicException("it holds no certificate with a private key");
        return (certificate, [.. all.Where(c => !c.HasPrivateKey)]);
    }
}

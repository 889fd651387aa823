using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.PowerShell;

/// <summary>What certificate parameters take: a certificate, or the path of a PEM or PFX file.</summary>
/// <remarks>The shell converts to it by its constructors; the file is read by the cmdlet, at its location.</remarks>
public sealed class RpcCertificateSource
{
    private readonly X509Certificate2? _certificate;

    /// <summary>A certificate that is there already.</summary>
    public RpcCertificateSource(X509Certificate2 certificate) => _certificate = certificate;

    /// <summary>A file.</summary>
    public RpcCertificateSource(string path) => Path = path;

    internal string? Path { get; }

    /// <summary>The certificates, without keys.</summary>
    internal X509Certificate2Collection ReadAll(string? file)
    {
        X509Certificate2Collection certificates = [];
        if (_certificate is not null)
        {
            certificates.Add(_certificate);
            return certificates;
        }

        Read(file!, () => certificates.ImportFromPemFile(file!));
        return certificates.Count > 0 ? certificates : throw Invalid(file!, "it holds no certificate in PEM form", null);
    }

    /// <summary>The certificate with its private key.</summary>
    internal X509Certificate2 ReadWithKey(string? file)
    {
        X509Certificate2? certificate = _certificate;
        if (certificate is null)
        {
            Read(file!, () => certificate = file!.EndsWith(".pfx", StringComparison.OrdinalIgnoreCase)
                || file.EndsWith(".p12", StringComparison.OrdinalIgnoreCase)
                    ? X509CertificateLoader.LoadPkcs12FromFile(file, null)
                    : X509Certificate2.CreateFromPemFile(file));
        }

        return certificate is { HasPrivateKey: true }
            ? certificate
            : throw Invalid(file ?? certificate!.Subject, "its private key is missing", null);
    }

    private static void Read(string file, Action read)
    {
        try
        {
            read();
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or CryptographicException)
        {
            throw Invalid(file, e.Message.TrimEnd('.'), e);
        }
    }

    private static RpcException Invalid(string what, string why, Exception? inner) =>
        new(RpcStatusCode.InvalidArgument, $"The certificate '{what}' cannot be used: {why}.", inner)
        {
            ErrorId = "InvalidCertificate",
        };
}

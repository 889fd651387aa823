using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.Interop;

/// <summary>An authority, and a server and a client that it vouches for,
/// as certificates and as PEM files.</summary>
internal sealed class TlsFiles : IDisposable
{
    public const string ServerName = "rpc.test";

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-tls-");

    public TlsFiles()
    {
        using RSA key = RSA.Create(2048);
        X509SignatureGenerator signer = X509SignatureGenerator.CreateForRSA(key, RSASignaturePadding.Pkcs1);
        Authority = Sign(Request("authority.test", key, isAuthority: true), signer);
        File.WriteAllText(AuthorityFile, Authority.ExportCertificatePem());
        Server = Issue(signer, ServerName, ServerFile, ServerKeyFile);
        Client = Issue(signer, "caller.test", ClientFile, ClientKeyFile);
    }

    public X509Certificate2 Authority { get; }

    public X509Certificate2 Server { get; }

    public X509Certificate2 Client { get; }

    public string AuthorityFile => InFolder("authority.pem");

    public string ServerFile => InFolder("server.pem");

    public string ServerKeyFile => InFolder("server-key.pem");

    public string ClientFile => InFolder("client.pem");

    public string ClientKeyFile => InFolder("client-key.pem");

    public void Dispose()
    {
        Authority.Dispose();
        Server.Dispose();
        Client.Dispose();
        _folder.Delete(recursive: true);
    }

    private static CertificateRequest Request(string name, RSA key, bool isAuthority)
    {
        CertificateRequest request = new(
            $"CN={name}", key, HashAlgorithmName.SHA256, RSASignaturePadding.Pkcs1);
        SubjectAlternativeNameBuilder names = new();
        names.AddDnsName(name);
        request.CertificateExtensions.Add(names.Build());
        request.CertificateExtensions.Add(
            new X509BasicConstraintsExtension(isAuthority, false, 0, critical: true));
        return request;
    }

    private static X509Certificate2 Sign(CertificateRequest request, X509SignatureGenerator signer) =>
        request.Create(
            new X500DistinguishedName("CN=authority.test"), signer, DateTimeOffset.UtcNow.AddHours(-1),
            DateTimeOffset.UtcNow.AddHours(1), Guid.NewGuid().ToByteArray());

    private static X509Certificate2 Issue(
        X509SignatureGenerator signer, string name, string file, string keyFile)
    {
        using RSA key = TestCertificate.NewKey();
        using X509Certificate2 bare = Sign(Request(name, key, isAuthority: false), signer);
        File.WriteAllText(file, bare.ExportCertificatePem());
        File.WriteAllText(keyFile, key.ExportPkcs8PrivateKeyPem());
        return TestCertificate.WithKey(bare, key);
    }

    private string InFolder(string name) => Path.Combine(_folder.FullName, name);
}

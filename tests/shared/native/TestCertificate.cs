using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.Pkcs;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.TestServers;

/// <summary>Certificates of tests, with keys of RSA that come from a PKCS #12 file: Windows does not take a
/// key that lives in memory only. The file is built in managed code, because Wine reads such files and cannot
/// write them. It also has no keys of ECDSA.</summary>
public static class TestCertificate
{
    /// <summary>The switch of <see cref="AppContext"/> for one key in all certificates. Wine keeps the key of
    /// the certificate that was loaded last, and takes it for that of the others.</summary>
    public const string OneKeySwitch = "ProtoRpc.Tests.OneKey";

    private const string Password = "test";

    private static readonly Lazy<RSAParameters> OneKey = new(() =>
    {
        using RSA key = RSA.Create(2048);
        return key.ExportParameters(includePrivateParameters: true);
    });

    private static bool HasOneKey => AppContext.TryGetSwitch(OneKeySwitch, out bool isSet) && isSet;

    /// <summary>Creates a certificate that signs itself.</summary>
    /// <param name="subject">For example <c>CN=localhost</c>.</param>
    /// <param name="hosts">DNS names and addresses, or none.</param>
    public static X509Certificate2 Create(string subject, params string[] hosts) =>
        Create(subject, hosts, -1, 1);

    /// <param name="subject">For example <c>CN=localhost</c>.</param>
    /// <param name="hosts">DNS names and addresses, or none.</param>
    /// <param name="from">The day that it is valid from, counted from today.</param>
    /// <param name="to">The day that it is valid to.</param>
    /// <param name="extensions">Further extensions.</param>
    public static X509Certificate2 Create(
        string subject, string[] hosts, int from, int to, params X509Extension[] extensions) =>
        Load(CreatePfx(Password, subject, hosts, from, to, extensions), Password);

    /// <summary>Loads a certificate and its key from a PKCS #12 file.</summary>
    /// <remarks>.NET deletes the key in Windows' store when the last handle of the certificate is closed,
    /// which may be after its server has stopped. Under Wine this would delete the key of all later
    /// certificates: their servers would fail each handshake with SEC_E_UNKNOWN_CREDENTIALS.</remarks>
    public static X509Certificate2 Load(byte[] pfx, string password) => X509CertificateLoader.LoadPkcs12(
        pfx, password,
        X509KeyStorageFlags.Exportable | (HasOneKey ? X509KeyStorageFlags.PersistKeySet : 0));

    /// <summary>Creates a file with a certificate that signs itself, and its key.</summary>
    public static byte[] CreatePfx(
        string password, string subject, string[] hosts, int from = -1, int to = 1,
        params X509Extension[] extensions)
    {
        using RSA key = NewKey();
        using X509Certificate2 bare = CreateBare(key, subject, hosts, from, to, extensions);
        return ToPfx(bare, key, password);
    }

    /// <summary>Creates a certificate that signs itself, without its key.</summary>
    public static X509Certificate2 CreateBare(
        RSA key, string subject, string[] hosts, int from = -1, int to = 1,
        params X509Extension[] extensions)
    {
        CertificateRequest request = new(subject, key, HashAlgorithmName.SHA256, RSASignaturePadding.Pkcs1);
        foreach (X509Extension extension in hosts.Length > 0 ? [HostsOf(hosts), .. extensions] : extensions)
        {
            request.CertificateExtensions.Add(extension);
        }

        DateTimeOffset now = DateTimeOffset.UtcNow;
        return request.Create(
            request.SubjectName, X509SignatureGenerator.CreateForRSA(key, RSASignaturePadding.Pkcs1),
            now.AddDays(from), now.AddDays(to), Guid.NewGuid().ToByteArray());
    }

    /// <summary>A key for a certificate.</summary>
    public static RSA NewKey() => HasOneKey ? RSA.Create(OneKey.Value) : RSA.Create(2048);

    /// <summary>Gives a certificate its key.</summary>
    public static X509Certificate2 WithKey(X509Certificate2 certificate, RSA key) =>
        Load(ToPfx(certificate, key, Password), Password);

    private static X509Extension HostsOf(string[] hosts)
    {
        SubjectAlternativeNameBuilder names = new();
        foreach (string host in hosts)
        {
            if (IPAddress.TryParse(host, out IPAddress? address))
            {
                names.AddIpAddress(address);
            }

            // Wine looks for addresses among the names too, and only there.
            names.AddDnsName(host);
        }

        return names.Build();
    }

    private static byte[] ToPfx(X509Certificate2 certificate, RSA key, string password)
    {
        Pkcs9LocalKeyId id = new([1]);
        Pkcs12SafeContents contents = new();
        contents.AddCertificate(certificate).Attributes.Add(id);
        contents.AddKeyUnencrypted(key).Attributes.Add(id);
        Pkcs12Builder builder = new();
        builder.AddSafeContentsUnencrypted(contents);
        // The only algorithm that all systems read.
        builder.SealWithMac(password, HashAlgorithmName.SHA1, 1);
        return builder.Encode();
    }
}

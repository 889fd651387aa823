using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using ProtoRpc.Security;

namespace ProtoRpc.Tests.Security;

public static class TlsEndPointTests
{
    [Theory]
    [InlineData("SHA256", false)]
    [InlineData("SHA384", false)]
    [InlineData("SHA512", false)]
    [InlineData("SHA256", true)]
    [InlineData("SHA384", true)]
    [InlineData("SHA512", true)]
    public static void The_hash_is_that_of_the_signature_with_RSA(string name, bool isPss)
    {
        HashAlgorithmName hash = new(name);
        using RSA key = RSA.Create(2048);
        using X509Certificate2 certificate = Create(new CertificateRequest(
            "CN=x", key, hash, isPss ? RSASignaturePadding.Pss : RSASignaturePadding.Pkcs1));

        byte[]? binding = TlsEndPoint.BindingOf(certificate);

        Assert.Equal(Expected(certificate, hash), binding);
    }

    [Theory]
    [InlineData("SHA256")]
    [InlineData("SHA384")]
    [InlineData("SHA512")]
    public static void The_hash_is_that_of_the_signature_with_ECDSA(string name)
    {
        HashAlgorithmName hash = new(name);
        using ECDsa key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        using X509Certificate2 certificate = Create(new CertificateRequest("CN=x", key, hash));

        byte[]? binding = TlsEndPoint.BindingOf(certificate);

        Assert.Equal(Expected(certificate, hash), binding);
    }

    [Fact]
    public static void A_signature_by_SHA_1_is_bound_by_SHA_256()
    {
        using RSA key = RSA.Create(2048);
        CertificateRequest request = new("CN=x", key, HashAlgorithmName.SHA256, RSASignaturePadding.Pkcs1);
        using X509Certificate2 certificate = request.Create(
            request.SubjectName, new Sha1Generator(key), DateTimeOffset.UtcNow,
            DateTimeOffset.UtcNow.AddDays(1), [1]);

        byte[]? binding = TlsEndPoint.BindingOf(certificate);

        Assert.Equal("sha1RSA", certificate.SignatureAlgorithm.FriendlyName);
        Assert.Equal(Expected(certificate, HashAlgorithmName.SHA256), binding);
    }

    private static X509Certificate2 Create(CertificateRequest request) =>
        request.CreateSelfSigned(DateTimeOffset.UtcNow, DateTimeOffset.UtcNow.AddDays(1));

    private static byte[] Expected(X509Certificate2 certificate, HashAlgorithmName hash) =>
        [.. Encoding.ASCII.GetBytes("tls-server-end-point:"), .. certificate.GetCertHash(hash)];

    // The signature itself is not looked at.
    private sealed class Sha1Generator(RSA key) : X509SignatureGenerator
    {
        public override byte[] GetSignatureAlgorithmIdentifier(HashAlgorithmName hashAlgorithm) =>
            Convert.FromHexString("300D06092A864886F70D0101050500");

        public override byte[] SignData(byte[] data, HashAlgorithmName hashAlgorithm) => new byte[256];

        protected override PublicKey BuildPublicKey() =>
            CreateForRSA(key, RSASignaturePadding.Pkcs1).PublicKey;
    }
}

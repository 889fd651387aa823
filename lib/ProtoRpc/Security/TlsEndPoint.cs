using System.Formats.Asn1;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.Security;

/// <summary>The channel binding for an authentication inside TLS: the server's certificate, as
/// <c>tls-server-end-point</c> (RFC 5929 section 4).</summary>
internal static class TlsEndPoint
{
    private const string RsaPss = "1.2.840.113549.1.1.10";
    private const string Sha384 = "2.16.840.1.101.3.4.2.2";
    private const string Sha512 = "2.16.840.1.101.3.4.2.3";

    /// <summary>The application data of the binding; null where RFC 5929 does not define one, because the
    /// certificate's signature has no separate hash.</summary>
    public static byte[]? BindingOf(X509Certificate2 certificate)
    {
        ReadOnlySpan<byte> der = certificate.RawDataMemory.Span;
        byte[]? hash = HashOf(certificate)?.Name switch
        {
            "SHA384" => SHA384.HashData(der),
            "SHA512" => SHA512.HashData(der),
            "SHA256" => SHA256.HashData(der),
            _ => null,
        };
        return hash is null ? null : [.. "tls-server-end-point:"u8, .. hash];
    }

    // MD5 and SHA-1 are replaced by SHA-256 (RFC 5929, section 4.1).
    private static HashAlgorithmName? HashOf(X509Certificate2 certificate) =>
        certificate.SignatureAlgorithm.Value switch
        {
            // RSA and ECDSA.
            "1.2.840.113549.1.1.4" or "1.2.840.113549.1.1.5" or "1.2.840.113549.1.1.11"
                or "1.2.840.10045.4.1" or "1.2.840.10045.4.3.2" => HashAlgorithmName.SHA256,
            "1.2.840.113549.1.1.12" or "1.2.840.10045.4.3.3" => HashAlgorithmName.SHA384,
            "1.2.840.113549.1.1.13" or "1.2.840.10045.4.3.4" => HashAlgorithmName.SHA512,
            RsaPss => HashOfPss(certificate.RawDataMemory),
            _ => null,
        };

    // RFC 4055 section 3.1: the hash is the first parameter; if it is omitted, SHA-1.
    private static HashAlgorithmName HashOfPss(ReadOnlyMemory<byte> certificate)
    {
        AsnReader signed = new AsnReader(certificate, AsnEncodingRules.DER).ReadSequence();
        signed.ReadEncodedValue();
        AsnReader algorithm = signed.ReadSequence();
        algorithm.ReadObjectIdentifier();
        AsnReader parameters = algorithm.ReadSequence();
        Asn1Tag first = new(TagClass.ContextSpecific, 0, isConstructed: true);
        if (!parameters.HasData || !parameters.PeekTag().HasSameClassAndValue(first))
        {
            return HashAlgorithmName.SHA256;
        }

        return parameters.ReadSequence(first).ReadSequence().ReadObjectIdentifier() switch
        {
            Sha384 => HashAlgorithmName.SHA384,
            Sha512 => HashAlgorithmName.SHA512,
            _ => HashAlgorithmName.SHA256,
        };
    }
}

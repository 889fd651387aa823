using System.Formats.Asn1;

namespace ProtoRpc.Security.Gss;

/// <summary>What GSSAPI puts around the first token of a mechanism (RFC 2743 section 3.1),
/// and DCE style leaves out.</summary>
internal static class GssFrame
{
    private const string Kerberos = "1.2.840.113554.1.2.2";
    private static readonly Asn1Tag Tag = new(TagClass.Application, 0, isConstructed: true);

    // Which of Kerberos' tokens it is (RFC 4121 section 4.1).
    private static ReadOnlySpan<byte> IsRequest => [0x01, 0x00];

    /// <summary>The request of Kerberos in a frame.</summary>
    /// <returns>The token as it is when it has no such frame.</returns>
    public static ReadOnlySpan<byte> Remove(ReadOnlySpan<byte> token)
    {
        if (!AsnDecoder.TryReadEncodedValue(
                token, AsnEncodingRules.BER,
                out Asn1Tag tag, out int offset, out int length, out int consumed)
            || tag != Tag || consumed != token.Length)
        {
            return token;
        }

        ReadOnlySpan<byte> content = token.Slice(offset, length);
        try
        {
            return AsnDecoder.ReadObjectIdentifier(content, AsnEncodingRules.BER, out int read) == Kerberos
                && content[read..].StartsWith(IsRequest)
                ? content[(read + IsRequest.Length)..]
                : token;
        }
        catch (AsnContentException)
        {
            return token;
        }
    }
}

using System.Formats.Asn1;

namespace ProtoRpc.Security.Spnego;

/// <summary>The client's first token (RFC 4178 section 4.2.1).</summary>
/// <param name="Mechanisms">What the client can do, the best first.</param>
/// <param name="MechanismList">The same as it is on the wire, for the code over it.</param>
/// <param name="Token">The first token of the best mechanism; null when there is none.</param>
internal sealed record NegTokenInit(
    IReadOnlyList<string> Mechanisms, ReadOnlyMemory<byte> MechanismList, ReadOnlyMemory<byte>? Token)
{
    private const int MaxMechanisms = 32;
    private static readonly Asn1Tag Frame = new(TagClass.Application, 0, isConstructed: true);

    /// <summary>Reads the token.</summary>
    /// <returns>Null when it is no such token.</returns>
    public static NegTokenInit? Read(ReadOnlyMemory<byte> token)
    {
        try
        {
            AsnReader frame = new AsnReader(token, AsnEncodingRules.BER).ReadSequence(Frame);
            if (frame.ReadObjectIdentifier() != SpnegoOid.Spnego)
            {
                return null;
            }

            AsnReader fields = frame.ReadSequence(SpnegoTag.Of(0)).ReadSequence();
            ReadOnlyMemory<byte> list = fields.ReadSequence(SpnegoTag.Of(0)).ReadEncodedValue();
            List<string> mechanisms = [];
            AsnReader items = new AsnReader(list, AsnEncodingRules.BER).ReadSequence();
            while (items.HasData && mechanisms.Count < MaxMechanisms)
            {
                mechanisms.Add(items.ReadObjectIdentifier());
            }

            // Unused flags may precede the token; after the token come hints or a code,
            // which are not needed yet.
            ReadOnlyMemory<byte>? mechanismToken = null;
            while (fields.HasData && mechanismToken is null)
            {
                bool isToken = fields.PeekTag().HasSameClassAndValue(SpnegoTag.Of(2));
                ReadOnlyMemory<byte> field = fields.ReadEncodedValue();
                if (isToken)
                {
                    mechanismToken = new AsnReader(field, AsnEncodingRules.BER)
                        .ReadSequence(SpnegoTag.Of(2)).ReadOctetString();
                }
            }

            return new NegTokenInit(mechanisms, list, mechanismToken);
        }
        catch (AsnContentException)
        {
            return null;
        }
    }

    /// <summary>The list of mechanisms as it goes on the wire.</summary>
    public static byte[] EncodeMechanisms(IEnumerable<string> mechanisms)
    {
        AsnWriter writer = new(AsnEncodingRules.DER);
        using (writer.PushSequence())
        {
            foreach (string oid in mechanisms)
            {
                writer.WriteObjectIdentifier(oid);
            }
        }

        return writer.Encode();
    }

    /// <summary>Writes the token.</summary>
    public byte[] ToBytes()
    {
        AsnWriter writer = new(AsnEncodingRules.DER);
        using (writer.PushSequence(Frame))
        {
            writer.WriteObjectIdentifier(SpnegoOid.Spnego);
            using (writer.PushSequence(SpnegoTag.Of(0)))
            using (writer.PushSequence())
            {
                using (writer.PushSequence(SpnegoTag.Of(0)))
                {
                    writer.WriteEncodedValue(MechanismList.Span);
                }

                if (Token is { } token)
                {
                    using (writer.PushSequence(SpnegoTag.Of(2)))
                    {
                        writer.WriteOctetString(token.Span);
                    }
                }
            }
        }

        return writer.Encode();
    }
}

/// <summary>The tags of fields.</summary>
internal static class SpnegoTag
{
    public static Asn1Tag Of(int number) => new(TagClass.ContextSpecific, number, isConstructed: true);
}

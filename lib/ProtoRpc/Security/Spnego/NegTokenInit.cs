using System.Formats.Asn1;

namespace ProtoRpc.Security.Spnego;

/// <summary>The client's first token (RFC 4178 section 4.2.1).</summary>
/// <param name="Mechanisms">The client's mechanisms, in the order of preference.</param>
/// <param name="MechanismList">The encoded list, for its signature.</param>
/// <param name="Token">The first token of the preferred mechanism; null for none.</param>
internal sealed record NegTokenInit(
    IReadOnlyList<string> Mechanisms, ReadOnlyMemory<byte> MechanismList, ReadOnlyMemory<byte>? Token)
{
    private const int MaxMechanisms = 32;
    private static readonly Asn1Tag Frame = new(TagClass.Application, 0, isConstructed: true);

    /// <summary>Reads the token.</summary>
    /// <returns>Null if it is not such a token.</returns>
    public static NegTokenInit? Read(ReadOnlyMemory<byte> token)
    {
        try
        {
            AsnReader frame = new AsnReader(token, AsnEncodingRules.BER).ReadSequence(Frame);
            if (frame.ReadObjectIdentifier() != SpnegoOid.Spnego)
            {
                return null;
            }

            AsnReader fields = frame.ReadSequence(SpnegoTag.Get(0)).ReadSequence();
            ReadOnlyMemory<byte> list = fields.ReadSequence(SpnegoTag.Get(0)).ReadEncodedValue();
            List<string> mechanisms = [];
            AsnReader items = new AsnReader(list, AsnEncodingRules.BER).ReadSequence();
            while (items.HasData && mechanisms.Count < MaxMechanisms)
            {
                mechanisms.Add(items.ReadObjectIdentifier());
            }

            // Optional flags may precede the token. The hints or the code after the token are not needed at
            // this point.
            ReadOnlyMemory<byte>? mechanismToken = null;
            while (fields.HasData && mechanismToken is null)
            {
                bool isToken = fields.PeekTag().HasSameClassAndValue(SpnegoTag.Get(2));
                ReadOnlyMemory<byte> field = fields.ReadEncodedValue();
                if (isToken)
                {
                    mechanismToken = new AsnReader(field, AsnEncodingRules.BER)
                        .ReadSequence(SpnegoTag.Get(2)).ReadOctetString();
                }
            }

            return new NegTokenInit(mechanisms, list, mechanismToken);
        }
        catch (AsnContentException)
        {
            return null;
        }
    }

    /// <summary>Encodes the list of mechanisms.</summary>
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
            using (writer.PushSequence(SpnegoTag.Get(0)))
            using (writer.PushSequence())
            {
                using (writer.PushSequence(SpnegoTag.Get(0)))
                {
                    writer.WriteEncodedValue(MechanismList.Span);
                }

                if (Token is { } token)
                {
                    using (writer.PushSequence(SpnegoTag.Get(2)))
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
    public static Asn1Tag Get(int number) => new(TagClass.ContextSpecific, number, isConstructed: true);
}

/// <summary>Every token after the first, of either side (RFC 4178 section 4.2.2).
/// Null values are not written.</summary>
internal sealed record NegTokenResponse
{
    public SpnegoState? State { get; init; }

    /// <summary>The mechanism that the server chose.</summary>
    public string? Mechanism { get; init; }

    /// <summary>A token of the mechanism.</summary>
    public byte[]? Token { get; init; }

    /// <summary>The code over the client's list of mechanisms.</summary>
    public byte[]? MechanismListMic { get; init; }

    /// <summary>Reads the token.</summary>
    /// <returns>Null if it is not such a token.</returns>
    public static NegTokenResponse? Read(ReadOnlyMemory<byte> token)
    {
        try
        {
            AsnReader fields =
                new AsnReader(token, AsnEncodingRules.BER).ReadSequence(SpnegoTag.Get(1)).ReadSequence();
            NegTokenResponse response = new();
            while (fields.HasData)
            {
                Asn1Tag tag = fields.PeekTag();
                AsnReader field = fields.ReadSequence(tag);
                response = tag.TagValue switch
                {
                    0 => response with { State = field.ReadEnumeratedValue<SpnegoState>() },
                    1 => response with { Mechanism = field.ReadObjectIdentifier() },
                    2 => response with { Token = field.ReadOctetString() },
                    3 => response with { MechanismListMic = field.ReadOctetString() },
                    _ => response,
                };
            }

            return response;
        }
        catch (Exception e) when (e is AsnContentException or ArgumentException or OverflowException)
        {
            // ArgumentException and OverflowException are thrown for an invalid enumerated value.
            return null;
        }
    }

    /// <summary>Writes the token.</summary>
    public byte[] ToBytes()
    {
        AsnWriter writer = new(AsnEncodingRules.DER);
        using (writer.PushSequence(SpnegoTag.Get(1)))
        using (writer.PushSequence())
        {
            Write(writer, 0, State, static (w, value) => w.WriteEnumeratedValue(value!.Value));
            Write(writer, 1, Mechanism, static (w, value) => w.WriteObjectIdentifier(value!));
            Write(writer, 2, Token, static (w, value) => w.WriteOctetString(value));
            Write(writer, 3, MechanismListMic, static (w, value) => w.WriteOctetString(value));
        }

        return writer.Encode();
    }

    private static void Write<T>(AsnWriter writer, int number, T? value, Action<AsnWriter, T> write)
    {
        if (value is not null)
        {
            using (writer.PushSequence(SpnegoTag.Get(number)))
            {
                write(writer, value);
            }
        }
    }
}

/// <summary>The negState of a response (RFC 4178 section 4.2.2).</summary>
internal enum SpnegoState
{
    AcceptCompleted = 0,
    AcceptIncomplete = 1,
    Reject = 2,
    RequestMic = 3,
}

/// <summary>A mechanism that may be agreed on.</summary>
/// <param name="Oid">Its object identifier.</param>
/// <param name="Create">Begins an authentication.</param>
internal sealed record SpnegoMechanism(string Oid, Func<SecurityContext> Create);

/// <summary>The mechanisms by their object identifiers.</summary>
internal static class SpnegoOid
{
    public const string Spnego = "1.3.6.1.5.5.2";
    public const string Ntlm = "1.3.6.1.4.1.311.2.2.10";
    public const string Kerberos = "1.2.840.113554.1.2.2";

    // Windows 2000 had a wrong digit in the id, so later versions of Windows offer both.
    private const string KerberosOfWindows = "1.2.840.48018.1.2.2";

    /// <summary>Whether two identifiers mean one mechanism.</summary>
    public static bool Same(string first, string second) => Canonical(first) == Canonical(second);

    private static string Canonical(string oid) => oid == KerberosOfWindows ? Kerberos : oid;
}

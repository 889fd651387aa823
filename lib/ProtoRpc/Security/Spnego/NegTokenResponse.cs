using System.Formats.Asn1;

namespace ProtoRpc.Security.Spnego;

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
    /// <returns>Null when it is no such token.</returns>
    public static NegTokenResponse? Read(ReadOnlyMemory<byte> token)
    {
        try
        {
            AsnReader fields =
                new AsnReader(token, AsnEncodingRules.BER).ReadSequence(SpnegoTag.Of(1)).ReadSequence();
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
            // The last two for an enumerated value that is none.
            return null;
        }
    }

    /// <summary>Writes the token.</summary>
    public byte[] ToBytes()
    {
        AsnWriter writer = new(AsnEncodingRules.DER);
        using (writer.PushSequence(SpnegoTag.Of(1)))
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
            using (writer.PushSequence(SpnegoTag.Of(number)))
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

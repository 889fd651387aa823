namespace ProtoRpc.Protocols.Dce;

/// <summary>The security trailer at the end of a PDU (C706 section 13.2.6.1).</summary>
/// <param name="Type">The security package: 9 SPNEGO, 10 NTLM, 16 Kerberos.</param>
/// <param name="Level">The protection level, 1 none to 6 privacy.</param>
/// <param name="PadLength">Padding between the stub and the trailer.</param>
/// <param name="ContextId">The security context that the client chose.</param>
internal readonly record struct AuthTrailer(byte Type, byte Level, byte PadLength, uint ContextId)
{
    /// <summary>Octets of the trailer before the authentication value.</summary>
    public const int Size = 8;

    private const int Alignment = 4;

    /// <summary>Reads the trailer of a whole PDU, if it has one.</summary>
    /// <param name="header">The header, already checked.</param>
    /// <param name="pdu">The PDU.</param>
    /// <param name="bodyOffset">Where the body begins, which the padding must not reach.</param>
    /// <param name="trailer">The trailer.</param>
    /// <returns>False when there is none, or when its padding is larger than the body.</returns>
    public static bool TryRead(
        in PduHeader header, ReadOnlySpan<byte> pdu, int bodyOffset, out AuthTrailer trailer)
    {
        trailer = default;
        if (header.AuthLength == 0)
        {
            return false;
        }

        PduReader reader = new(pdu, header.LittleEndian, pdu.Length - header.TrailerLength);
        byte type = reader.ReadByte();
        byte level = reader.ReadByte();
        byte padLength = reader.ReadByte();
        reader.Skip(1);
        trailer = new AuthTrailer(type, level, padLength, reader.ReadUInt32());
        return !reader.Failed && bodyOffset + padLength <= pdu.Length - header.TrailerLength;
    }

    /// <summary>Adds a trailer and its value to a PDU that has none.</summary>
    /// <exception cref="RpcException">ResourceExhausted when the value is too large for one PDU.</exception>
    public static byte[] Append(byte[] pdu, AuthTrailer trailer, ReadOnlySpan<byte> value)
    {
        int padding = -pdu.Length & (Alignment - 1);
        int whole = pdu.Length + padding + Size + value.Length;
        if (whole > ushort.MaxValue)
        {
            throw new RpcException(
                RpcStatusCode.ResourceExhausted,
                $"The authentication token has {value.Length:N0} bytes, which is more than a PDU can hold.")
            {
                ErrorId = RpcErrorIds.TokenTooLarge,
            };
        }

        byte[] longer = new byte[whole];
        pdu.CopyTo(longer, 0);
        PduHeader header = PduHeader.Read(pdu);
        PduHeader.Write(longer, header.Type, header.Flags, whole, value.Length, header.CallId);
        (trailer with { PadLength = (byte)padding }).Write(longer.AsSpan(pdu.Length + padding));
        value.CopyTo(longer.AsSpan(whole - value.Length));
        return longer;
    }

    /// <summary>Writes the trailer without its value.</summary>
    public void Write(Span<byte> target)
    {
        PduWriter writer = new(target, 0);
        writer.WriteByte(Type);
        writer.WriteByte(Level);
        writer.WriteByte(PadLength);
        writer.WriteByte(0);
        writer.WriteUInt32(ContextId);
    }
}

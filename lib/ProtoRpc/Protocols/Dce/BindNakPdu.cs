namespace ProtoRpc.Protocols.Dce;

/// <summary>The body of bind_nak.</summary>
internal static class BindNakPdu
{
    private const int Size = PduHeader.Size + 5;

    /// <summary>Reads the reason; what follows it differs between peers and is not needed.</summary>
    /// <returns>False when even the reason is missing.</returns>
    public static bool TryReadReason(in PduHeader header, ReadOnlySpan<byte> pdu, out BindNakReason reason)
    {
        PduReader reader = new(pdu, header.LittleEndian, PduHeader.Size);
        reason = (BindNakReason)reader.ReadUInt16();
        return !reader.Failed;
    }

    /// <summary>Writes the whole PDU, naming 5.0 as the supported version.</summary>
    public static byte[] ToBytes(BindNakReason reason, uint callId)
    {
        byte[] pdu = new byte[Size];
        PduHeader.Write(pdu, PduType.BindNak, PduFlags.Single, Size, 0, callId);
        PduWriter writer = new(pdu, PduHeader.Size);
        writer.WriteUInt16((ushort)reason);
        writer.WriteByte(1);
        writer.WriteByte(5);
        writer.WriteByte(0);
        return pdu;
    }
}

/// <summary>Why a bind was refused as a whole; not the numbers of <see cref="ContextResult"/>.</summary>
internal enum BindNakReason : ushort
{
    /// <summary>Not said.</summary>
    Unspecified = 0,

    /// <summary>The server is busy.</summary>
    TemporaryCongestion = 1,

    /// <summary>The server has as many connections as it takes.</summary>
    LocalLimit = 2,

    /// <summary>The protocol version is not supported.</summary>
    ProtocolVersion = 4,

    /// <summary>The security package is not known.</summary>
    AuthenticationType = 8,

    /// <summary>A checksum is wrong.</summary>
    InvalidChecksum = 9,
}

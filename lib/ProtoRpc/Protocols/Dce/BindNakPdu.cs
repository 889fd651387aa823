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

namespace ProtoRpc.Protocols.Dce;

/// <summary>The body of fault.</summary>
internal static class FaultPdu
{
    private const int Size = 32;

    /// <summary>Reads the status; some peers leave out what follows it, or append data.</summary>
    /// <returns>False when the status is missing.</returns>
    public static bool TryReadStatus(in PduHeader header, ReadOnlySpan<byte> pdu, out uint status)
    {
        PduReader reader = new(pdu, header.LittleEndian, PduHeader.CallSize);
        status = reader.ReadUInt32();
        return !reader.Failed;
    }

    /// <summary>Writes the whole PDU.</summary>
    public static byte[] ToBytes(uint status, uint callId, ushort contextId, bool didNotExecute)
    {
        byte[] pdu = new byte[Size];
        PduFlags flags = didNotExecute ? PduFlags.Single | PduFlags.DidNotExecute : PduFlags.Single;
        PduHeader.Write(pdu, PduType.Fault, flags, Size, 0, callId);
        PduWriter writer = new(pdu, PduHeader.Size);
        writer.WriteUInt32(Size);
        writer.WriteUInt16(contextId);
        writer.WriteUInt16(0);
        writer.WriteUInt32(status);
        writer.WriteUInt32(0);
        return pdu;
    }
}

namespace ProtoRpc.Protocols.Dce;

/// <summary>The body of auth3, which carries a client's last token
/// and has no answer ([MS-RPCE] section 2.2.2.5).</summary>
internal static class Auth3Pdu
{
    // Four octets of padding.
    private const int Size = PduHeader.Size + 4;

    /// <summary>Writes the PDU without its trailer.</summary>
    public static byte[] ToBytes(uint callId)
    {
        byte[] pdu = new byte[Size];
        PduHeader.Write(pdu, PduType.Auth3, PduFlags.Single, Size, 0, callId);
        return pdu;
    }
}

using System.Text;

namespace ProtoRpc.Protocols.Dce;

/// <summary>The body of bind_ack and alter_context_resp.</summary>
/// <param name="MaxTransmit">The largest fragment that the server will send.</param>
/// <param name="MaxReceive">The largest that it will take.</param>
/// <param name="AssociationGroup">The group; not zero.</param>
/// <param name="SecondaryAddress">The server's endpoint as it names it; empty in alter_context_resp.</param>
/// <param name="Results">One for each proposed context, in order.</param>
internal sealed record BindAckPdu(
    ushort MaxTransmit, ushort MaxReceive, uint AssociationGroup, string SecondaryAddress,
    IReadOnlyList<ContextResult> Results)
{
    private const int ResultSize = 4 + SyntaxId.Size;

    /// <summary>Reads a whole PDU.</summary>
    /// <returns>Null when it is too short, or longer than its results.</returns>
    public static BindAckPdu? Read(in PduHeader header, ReadOnlySpan<byte> pdu)
    {
        PduReader reader = new(pdu[..^header.TrailerLength], header.LittleEndian, PduHeader.Size);
        ushort maxTransmit = reader.ReadUInt16();
        ushort maxReceive = reader.ReadUInt16();
        uint group = reader.ReadUInt32();
        string address = Encoding.Latin1.GetString(reader.Take(reader.ReadUInt16())).TrimEnd('\0');
        reader.Align(4);
        int count = reader.ReadByte();
        reader.Skip(3);
        List<ContextResult> results = [];
        for (int i = 0; i < count && !reader.Failed; i++)
        {
            results.Add(new ContextResult(
                (ContextDecision)reader.ReadUInt16(), reader.ReadUInt16(), reader.ReadSyntax()));
        }

        bool complete = header.AuthLength == 0 ? reader.AtEnd : !reader.Failed;
        return complete ? new BindAckPdu(maxTransmit, maxReceive, group, address, results) : null;
    }

    /// <summary>Writes the whole PDU.</summary>
    /// <param name="type">BindAck or AlterContextResponse.</param>
    /// <param name="callId">The call id of what it answers.</param>
    public byte[] ToBytes(PduType type, uint callId)
    {
        byte[] address = SecondaryAddress.Length == 0 ? [] : Encoding.ASCII.GetBytes(SecondaryAddress + "\0");
        int padding = -(PduHeader.Size + 10 + address.Length) & 3;
        int size = PduHeader.Size + 10 + address.Length + padding + 4 + ResultSize * Results.Count;
        byte[] pdu = new byte[size];
        PduHeader.Write(pdu, type, PduFlags.Single, size, 0, callId);
        PduWriter writer = new(pdu, PduHeader.Size);
        writer.WriteUInt16(MaxTransmit);
        writer.WriteUInt16(MaxReceive);
        writer.WriteUInt32(AssociationGroup);
        writer.WriteUInt16((ushort)address.Length);
        writer.WriteBytes(address);
        writer.WriteZeros(padding);
        writer.WriteByte(checked((byte)Results.Count));
        writer.WriteZeros(3);
        foreach (ContextResult result in Results)
        {
            writer.WriteUInt16((ushort)result.Result);
            writer.WriteUInt16(result.Reason);
            writer.WriteSyntax(result.Transfer);
        }

        return pdu;
    }
}

namespace ProtoRpc.Protocols.Dce;

/// <summary>The body of bind and alter_context.</summary>
/// <param name="MaxTransmit">The largest fragment that the client will send.</param>
/// <param name="MaxReceive">The largest that it will take.</param>
/// <param name="AssociationGroup">0, or the group that an earlier bind_ack named.</param>
/// <param name="Contexts">The proposed contexts, in order.</param>
internal sealed record BindPdu(
    ushort MaxTransmit, ushort MaxReceive, uint AssociationGroup, IReadOnlyList<ContextProposal> Contexts)
{
    /// <summary>Reads a whole PDU.</summary>
    /// <returns>Null when it is too short, or longer than its contexts.</returns>
    public static BindPdu? Read(in PduHeader header, ReadOnlySpan<byte> pdu)
    {
        PduReader reader = new(pdu[..^header.TrailerLength], header.LittleEndian, PduHeader.Size);
        ushort maxTransmit = reader.ReadUInt16();
        ushort maxReceive = reader.ReadUInt16();
        uint group = reader.ReadUInt32();
        int count = reader.ReadByte();
        reader.Skip(3);

        // The lists grow with what is really there: the counts come from the peer.
        List<ContextProposal> contexts = [];
        for (int i = 0; i < count && !reader.Failed; i++)
        {
            ushort id = reader.ReadUInt16();
            int syntaxes = reader.ReadByte();
            reader.Skip(1);
            SyntaxId abstractSyntax = reader.ReadSyntax();
            List<SyntaxId> transfers = [];
            for (int k = 0; k < syntaxes && !reader.Failed; k++)
            {
                transfers.Add(reader.ReadSyntax());
            }

            contexts.Add(new ContextProposal(id, abstractSyntax, transfers));
        }

        // A security trailer is preceded by padding, so only a PDU without one must end here.
        bool complete = header.AuthLength == 0 ? reader.AtEnd : !reader.Failed;
        return complete ? new BindPdu(maxTransmit, maxReceive, group, contexts) : null;
    }

    /// <summary>Writes the whole PDU.</summary>
    /// <param name="type">Bind or AlterContext.</param>
    /// <param name="callId">The call id that the answer repeats.</param>
    public byte[] ToBytes(PduType type, uint callId)
    {
        int size = PduHeader.Size + 12;
        foreach (ContextProposal context in Contexts)
        {
            size += 4 + SyntaxId.Size * (1 + context.Transfers.Count);
        }

        byte[] pdu = new byte[size];
        PduHeader.Write(pdu, type, PduFlags.Single, size, 0, callId);
        PduWriter writer = new(pdu, PduHeader.Size);
        writer.WriteUInt16(MaxTransmit);
        writer.WriteUInt16(MaxReceive);
        writer.WriteUInt32(AssociationGroup);
        writer.WriteByte(checked((byte)Contexts.Count));
        writer.WriteZeros(3);
        foreach (ContextProposal context in Contexts)
        {
            writer.WriteUInt16(context.Id);
            writer.WriteByte(checked((byte)context.Transfers.Count));
            writer.WriteByte(0);
            writer.WriteSyntax(context.Interface);
            foreach (SyntaxId transfer in context.Transfers)
            {
                writer.WriteSyntax(transfer);
            }
        }

        return pdu;
    }
}

/// <summary>One presentation context of a bind or alter_context.</summary>
/// <param name="Id">The number that requests name it by.</param>
/// <param name="Interface">The abstract syntax.</param>
/// <param name="Transfers">The transfer syntaxes that the client can use.</param>
internal sealed record ContextProposal(ushort Id, SyntaxId Interface, IReadOnlyList<SyntaxId> Transfers);

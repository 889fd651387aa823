namespace ProtoRpc.Protocols.Dce;

/// <summary>One fragment of a request or response: what stands before the stub,
/// and where the stub is.</summary>
/// <param name="ContextId">The presentation context.</param>
/// <param name="Operation">The operation number; 0 on a response.</param>
/// <param name="StubOffset">Where the stub begins in the PDU.</param>
/// <param name="StubLength">The stub without padding and security trailer.</param>
internal readonly record struct CallPdu(ushort ContextId, ushort Operation, int StubOffset, int StubLength)
{
    private const int ObjectUuidSize = 16;

    /// <summary>Reads a whole PDU.</summary>
    /// <returns>False when it is too short for what its flags and lengths say.</returns>
    public static bool TryRead(in PduHeader header, ReadOnlySpan<byte> pdu, out CallPdu call)
    {
        call = default;
        bool hasObject = header.Type == PduType.Request && header.Flags.HasFlag(PduFlags.ObjectUuid);
        int stubOffset = PduHeader.CallSize + (hasObject ? ObjectUuidSize : 0);
        int stubLength = pdu.Length - stubOffset - header.TrailerLength;
        if (header.AuthLength != 0)
        {
            if (stubLength < 0 || !AuthTrailer.TryRead(header, pdu, stubOffset, out AuthTrailer trailer))
            {
                return false;
            }

            stubLength -= trailer.PadLength;
        }

        // The allocation hint is skipped: it is advice of the peer, and nothing is allocated by it.
        PduReader reader = new(pdu, header.LittleEndian, PduHeader.Size + 4);
        ushort contextId = reader.ReadUInt16();
        ushort operation = reader.ReadUInt16();
        call = new CallPdu(
            contextId, header.Type == PduType.Request ? operation : (ushort)0, stubOffset, stubLength);
        return !reader.Failed && stubLength >= 0;
    }

    /// <summary>Undoes the protection of a fragment in place, if it is protected as it must be.</summary>
    /// <param name="header">The header, already checked.</param>
    /// <param name="pdu">The PDU.</param>
    /// <param name="protection">What the association agreed on; null for none.</param>
    /// <returns>False when it is protected and must not be, or the other way round,
    /// or the signature is wrong.</returns>
    public static bool TryUnprotect(in PduHeader header, Span<byte> pdu, PduProtection? protection)
    {
        if (protection is null || header.AuthLength == 0)
        {
            return protection is null && header.AuthLength == 0;
        }

        // Another package, level or context than the agreed one would be a way around the agreed one.
        return TryRead(header, pdu, out CallPdu call)
            && AuthTrailer.TryRead(header, pdu, call.StubOffset, out AuthTrailer trailer)
            && trailer with { PadLength = 0 } == protection.Trailer
            && protection.TryUnprotect(pdu, call.StubOffset, header.AuthLength);
    }

    /// <summary>Writes header and fixed part of a fragment;
    /// the stub follows at <see cref="PduHeader.CallSize"/>.</summary>
    public static void Write(
        Span<byte> target, PduType type, PduFlags flags, int stubLength,
        uint callId, uint allocationHint, ushort contextId)
    {
        PduHeader.Write(target, type, flags, PduHeader.CallSize + stubLength, 0, callId);
        PduWriter writer = new(target, PduHeader.Size);
        writer.WriteUInt32(allocationHint);
        writer.WriteUInt16(contextId);

        // The operation number of a request, the cancel count of a response: both 0.
        writer.WriteUInt16(0);
    }
}

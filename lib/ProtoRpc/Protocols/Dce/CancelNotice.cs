namespace ProtoRpc.Protocols.Dce;

/// <summary>What a client said, while its call runs, about not wanting it any more.</summary>
internal enum CancelNotice
{
    /// <summary>Nothing.</summary>
    None,

    /// <summary>The call should end early; the answer is still awaited.</summary>
    Cancel,

    /// <summary>No answer is awaited.</summary>
    Orphan,
}

/// <summary>The cancels among what a client sends while its call runs.</summary>
internal static class CancelNotices
{
    /// <summary>What whole PDUs say of a call. It ends at the first that is none: that one is read, and
    /// refused, once the call is over.</summary>
    /// <param name="bytes">Bytes from the beginning of a PDU on.</param>
    /// <param name="callId">The call that runs.</param>
    public static CancelNotice Find(ReadOnlySpan<byte> bytes, uint callId)
    {
        CancelNotice notice = CancelNotice.None;
        while (bytes.Length >= PduHeader.Size)
        {
            PduHeader header = PduHeader.Read(bytes);
            if (header.Check(ushort.MaxValue) != PduDefect.None || header.FragmentLength > bytes.Length)
            {
                break;
            }

            if (header.CallId == callId && header.Type == PduType.Orphaned)
            {
                return CancelNotice.Orphan;
            }

            if (header.CallId == callId && header.Type == PduType.CoCancel)
            {
                notice = CancelNotice.Cancel;
            }

            bytes = bytes[header.FragmentLength..];
        }

        return notice;
    }
}

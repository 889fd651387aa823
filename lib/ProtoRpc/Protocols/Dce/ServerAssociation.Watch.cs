namespace ProtoRpc.Protocols.Dce;

// The reports of the association to its listener.
internal sealed partial class ServerAssociation
{
    /// <summary>Receives calls and binds that are refused: the interfaces as far as they are known, the
    /// status of the fault (0x5 for a bind), and how many bytes of a request came. Null for none.</summary>
    public Action<IReadOnlyList<Guid>, uint, int>? Refused { get; init; }

    /// <summary>Receives the PDUs in both directions, with the listener's endpoint; null for none.</summary>
    public (RpcTrace To, RpcEndpoint Endpoint)? Trace { get; init; }

    /// <summary>Whether a PDU, or the fragments of a request, began to come and did not end.</summary>
    public bool IsMidMessage => _assembler.InProgress || _input.Unread.Length > 0;

    /// <summary>PDUs that came whole, so that the owner sees whether something moves.</summary>
    public long ReceivedPdus { get; private set; }

    /// <summary>Whether received bytes, looked at while a call runs, cancel it.</summary>
    /// <param name="bytes">Bytes from the beginning of a PDU on.</param>
    public CancelNotice FindCancel(ReadOnlySpan<byte> bytes) => CancelNotices.Find(bytes, CallId);

    /// <summary>Whether the call was cancelled before it began.</summary>
    public CancelNotice FindBufferedCancel()
    {
        CancelNotice notice = FindCancel(_input.Unread);
        return notice == CancelNotice.None && _assembler.Flags.HasFlag(PduFlags.PendingCancel)
            ? CancelNotice.Cancel
            : notice;
    }

    private void Note(bool isSent, ReadOnlySpan<byte> pdus)
    {
        if (Trace is var (to, endpoint) && to.IsEnabled)
        {
            PduTrace.Write(to, endpoint, isSent, pdus);
        }
    }
}

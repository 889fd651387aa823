namespace ProtoRpc.Protocols.Dce;

// The reports of the association to its listener.
internal sealed partial class ServerAssociation
{
    /// <summary>Receives calls and binds that are refused: the interfaces as far as they are known, the
    /// status of the fault (0x5 for a bind), and how many bytes of a request came. Null for none.</summary>
    public Action<IReadOnlyList<Guid>, uint, int>? Refused { get; init; }

    /// <summary>Receives the PDUs in both directions, with the listener's endpoint; null for none.</summary>
    public (RpcTrace To, RpcEndpoint Endpoint)? Trace { get; init; }

    private void Note(bool isSent, ReadOnlySpan<byte> pdus)
    {
        if (Trace is var (to, endpoint) && to.IsEnabled)
        {
            PduTrace.Write(to, endpoint, isSent, pdus);
        }
    }
}

namespace ProtoRpc.Protocols.Dce;

/// <summary>The fault statuses that this server sends ([MS-RPCE] section 2.2.2.11).</summary>
internal static class FaultStatus
{
    /// <summary>Anonymous refused, or security that was not negotiated.</summary>
    public const uint AccessDenied = 0x00000005;

    /// <summary>Calls must be protected better.</summary>
    public const uint UnsupportedLevel = 0x1C00001D;

    /// <summary>The arguments do not decode.</summary>
    public const uint BadStubData = 0x000006F7;

    /// <summary>The request names a context that was not accepted.</summary>
    public const uint InvalidContext = 0x1C00001C;

    /// <summary>An operation other than 0.</summary>
    public const uint OperationRange = 0x1C010002;

    /// <summary>The interface was withdrawn.</summary>
    public const uint UnknownInterface = 0x1C010003;

    /// <summary>PDUs in an order that the protocol does not have.</summary>
    public const uint ProtocolError = 0x1C01000B;

    /// <summary>The reply is over the limit.</summary>
    public const uint ReplyTooLarge = 0x1C010013;

    /// <summary>The server has too many calls, or no memory for the request now.</summary>
    public const uint TooBusy = 0x1C010014;

    /// <summary>The request is over the limit.</summary>
    public const uint RequestTooLarge = 0x1C00001B;

    /// <summary>The call was cancelled.</summary>
    public const uint Cancelled = 0x1C00000D;
}

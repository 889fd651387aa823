namespace ProtoRpc.Protocols.Dce;

/// <summary>The pfc_flags of a PDU (C706 section 12.6.3.1).</summary>
[Flags]
internal enum PduFlags : byte
{
    /// <summary>None.</summary>
    None = 0,

    /// <summary>First fragment of a call's request or response.</summary>
    First = 0x01,

    /// <summary>Last fragment.</summary>
    Last = 0x02,

    /// <summary>Both: the PDU is the whole message.</summary>
    Single = First | Last,

    /// <summary>On a request: a cancel was pending when it was sent.</summary>
    PendingCancel = 0x04,

    /// <summary>The same bit on the PDUs of a bind: signatures can cover header and trailer.</summary>
    HeaderSigning = 0x04,

    /// <summary>Calls may interleave on the connection.</summary>
    ConcurrentMultiplexing = 0x10,

    /// <summary>On a fault: the call surely did not run.</summary>
    DidNotExecute = 0x20,

    /// <summary>The client wants no answer.</summary>
    Maybe = 0x40,

    /// <summary>Sixteen octets of object UUID follow a request's header.</summary>
    ObjectUuid = 0x80,
}

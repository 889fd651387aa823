namespace ProtoRpc.Protocols.Dce;

/// <summary>Kinds of connection-oriented PDUs (C706 section 12.6.4). The numbers that are left out belong to
/// the datagram protocol and to RPC over HTTP.</summary>
internal enum PduType : byte
{
    /// <summary>A fragment of a request.</summary>
    Request = 0,

    /// <summary>A fragment of a response.</summary>
    Response = 2,

    /// <summary>The call failed below the interface.</summary>
    Fault = 3,

    /// <summary>Opens an association.</summary>
    Bind = 11,

    /// <summary>Accepts an association; each context has its own result.</summary>
    BindAck = 12,

    /// <summary>Refuses an association as a whole.</summary>
    BindNak = 13,

    /// <summary>Adds contexts to an association.</summary>
    AlterContext = 14,

    /// <summary>Answers <see cref="AlterContext"/>.</summary>
    AlterContextResponse = 15,

    /// <summary>The third leg of a token exchange; never answered.</summary>
    Auth3 = 16,

    /// <summary>The server asks the client to leave the association.</summary>
    Shutdown = 17,

    /// <summary>The client would like the call to end early; it still waits for the answer.</summary>
    CoCancel = 18,

    /// <summary>The client no longer wants an answer.</summary>
    Orphaned = 19,
}

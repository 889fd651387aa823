namespace ProtoRpc.Protocols.Dce;

/// <summary>What came to a client association.</summary>
internal enum ClientStep
{
    /// <summary>Nothing whole: more bytes are needed.</summary>
    Receive,

    /// <summary>Its output is to be sent: the authentication goes on.</summary>
    Send,

    /// <summary>The bind was accepted and the client is authenticated, if requested;
    /// there may be output.</summary>
    Bound,

    /// <summary>The reply of the call.</summary>
    Reply,

    /// <summary>A fault in place of the reply; the connection goes on.</summary>
    Fault,

    /// <summary>The server asks the client to leave.</summary>
    Shutdown,
}

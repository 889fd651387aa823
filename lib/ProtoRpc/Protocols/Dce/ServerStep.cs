namespace ProtoRpc.Protocols.Dce;

/// <summary>What a server association wants next.</summary>
internal enum ServerStep
{
    /// <summary>More bytes from the peer.</summary>
    Receive,

    /// <summary>Its output sent.</summary>
    Send,

    /// <summary>The call handled and answered.</summary>
    Call,

    /// <summary>Its output sent, then the connection closed.</summary>
    Close,
}

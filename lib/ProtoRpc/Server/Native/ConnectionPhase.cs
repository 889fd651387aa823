namespace ProtoRpc.Server.Native;

/// <summary>What a server's connection is doing, as its listener's watch sees it.</summary>
internal enum ConnectionPhase
{
    /// <summary>Connected, and the client has not bound yet.</summary>
    Binding,

    /// <summary>Waiting for the client's next call.</summary>
    Idle,

    /// <summary>In the middle of a PDU or of a request's fragments.</summary>
    Receiving,

    /// <summary>A handler runs.</summary>
    Running,

    /// <summary>Sending.</summary>
    Sending,

    /// <summary>Everything is said; waiting for the client's end.</summary>
    Closing,
}

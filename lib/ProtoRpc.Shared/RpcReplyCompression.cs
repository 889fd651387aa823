namespace ProtoRpc;

/// <summary>When replies over HTTP are compressed. Both sides must want it: the client asks, and the server
/// compresses. Small replies, and replies that do not shrink, are sent as they are.</summary>
public enum RpcReplyCompression
{
    /// <summary>Between machines only. A client also asks where its own requests are compressed.</summary>
    Automatic,

    /// <summary>Also within a machine, for example through a tunnel or a proxy.</summary>
    Always,

    /// <summary>Never.</summary>
    Never,
}

namespace ProtoRpc;

/// <summary>How sent messages are compressed. Compressed messages are always accepted.</summary>
public enum RpcCompression
{
    /// <summary>No compression.</summary>
    None,

    /// <summary>gzip.</summary>
    Gzip,

    /// <summary>Brotli; only over HTTP.</summary>
    Brotli,
}

/// <summary>When replies over HTTP are compressed. Both sides must enable it: the client requests it, and the
/// server compresses. Small replies, and replies that do not shrink, are sent uncompressed.</summary>
public enum RpcReplyCompression
{
    /// <summary>Only between machines. A client that compresses its requests always requests it.</summary>
    Automatic,

    /// <summary>Also on one machine, for example through a tunnel or a proxy.</summary>
    Always,

    /// <summary>Never.</summary>
    Never,
}

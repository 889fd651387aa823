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

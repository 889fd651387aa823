namespace ProtoRpc;

/// <summary>How messages that are sent are compressed; what comes compressed is always understood.</summary>
public enum RpcCompression
{
    /// <summary>Not at all.</summary>
    None,

    /// <summary>With gzip.</summary>
    Gzip,

    /// <summary>With Brotli; over HTTP only.</summary>
    Brotli,
}

namespace ProtoRpc;

/// <summary>How far a message that goes in parts has come.</summary>
/// <param name="SentBytes">Bytes that the server has taken.</param>
/// <param name="TotalBytes">Bytes in all.</param>
public readonly record struct RpcProgress(long SentBytes, long TotalBytes);

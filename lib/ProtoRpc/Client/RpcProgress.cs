namespace ProtoRpc;

/// <summary>The progress of a message that is sent in parts.</summary>
/// <param name="SentBytes">The number of bytes that the server has received.</param>
/// <param name="TotalBytes">The total number of bytes.</param>
public readonly record struct RpcProgress(long SentBytes, long TotalBytes);

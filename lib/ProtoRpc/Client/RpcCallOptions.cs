using Google.Protobuf;

namespace ProtoRpc;

/// <summary>How one call is made.</summary>
public sealed record RpcCallOptions
{
    /// <summary>How long the caller waits; InfiniteTimeSpan for ever. Null for the limit's call timeout with
    /// a unary method, and for ever with one that streams.</summary>
    public TimeSpan? Timeout { get; init; }

    /// <summary>Headers to send beside those of the client.</summary>
    public RpcMetadata? Headers { get; init; }

    /// <summary>Extensions of the request header of the native protocol: a
    /// <c>google.protobuf.rpc_messages.RpcRequestHeader</c>, dynamic or generated, with extensions only. The
    /// fields and extensions of the protocol itself are refused, and so is the whole on HTTP and gRPC
    /// endpoints, which have no such header.</summary>
    public IMessage? Extensions { get; init; }

    /// <summary>Receives headers, trailers and extensions of the reply.</summary>
    public RpcResponseInfo? Response { get; init; }

    /// <summary>How requests are compressed; null as the client is set.</summary>
    public RpcCompression? Compression { get; init; }

    /// <summary>Told how far a large request has come that goes in parts.</summary>
    public IProgress<RpcProgress>? Progress { get; init; }

    /// <summary>Whether a server that cannot be reached is tried again until the call's time is over. A call
    /// that may have run is never made again.</summary>
    public bool WaitForReady { get; init; }
}

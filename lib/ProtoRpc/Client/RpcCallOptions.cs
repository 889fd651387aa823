using Google.Protobuf;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc;

/// <summary>How one call is made.</summary>
public sealed record RpcCallOptions
{
    /// <summary>How long the caller waits; InfiniteTimeSpan for ever. Null for the limit's call timeout with
    /// a unary method, and for ever with one that streams.</summary>
    public TimeSpan? Timeout { get; set; }

    /// <summary>When the caller stops waiting, by this machine's clock: for calls that share one deadline.
    /// Null for none. With a <see cref="Timeout"/> as well, the earlier of the two ends the call; a call
    /// whose deadline has passed fails with DeadlineExceeded and sends nothing. The server receives the
    /// remaining time.</summary>
    public DateTimeOffset? Deadline { get; set; }

    /// <summary>Headers to send beside those of the client.</summary>
    public RpcMetadata? Headers { get; set; }

    /// <summary>Extensions of the request header of the native protocol: a
    /// <c>google.protobuf.rpc_messages.RpcRequestHeader</c>, dynamic or generated, with extensions only. The
    /// fields and extensions of the protocol itself are refused, and so is the whole on HTTP and gRPC
    /// endpoints, which have no such header.</summary>
    public IMessage? Extensions { get; set; }

    /// <summary>Receives headers, trailers and extensions of the reply.</summary>
    public RpcResponseInfo? Response { get; set; }

    /// <summary>How requests are compressed; null as the client is set.</summary>
    public RpcCompression? Compression { get; set; }

    /// <summary>The side channel of this call alone: the client's is neither sent nor replaced,
    /// and what comes back is in <see cref="Response"/>. Null for the client's.</summary>
    internal RpcCallContext? Context { get; init; }

    /// <summary>Whether a gateway makes the call for a caller who sent no headers: native endpoints then get
    /// the count of gateways, and what comes beside a reply is kept where there is something.</summary>
    internal bool IsFirstHop { get; init; }

    /// <summary>Receives the progress of a large request that is sent in parts.</summary>
    public IProgress<RpcProgress>? Progress { get; set; }

    /// <summary>Whether a server that cannot be reached is tried again until the call's time is over. A call
    /// that may have run is never made again.</summary>
    public bool WaitForReady { get; set; }
}

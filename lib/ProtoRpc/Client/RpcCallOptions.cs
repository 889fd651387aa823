using Google.Protobuf;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc;

/// <summary>The options of a call.</summary>
public sealed record RpcCallOptions
{
    /// <summary>How long the caller waits; InfiniteTimeSpan for no limit. Null uses the limit's call timeout
    /// for unary methods, and no limit for streaming methods.</summary>
    public TimeSpan? Timeout { get; set; }

    /// <summary>When the caller stops waiting, by this machine's clock; null for none. Use it for calls that
    /// share one deadline. If <see cref="Timeout"/> is also set, the earlier of the two applies. A call whose
    /// deadline has passed fails with DeadlineExceeded and sends nothing. The server receives the remaining
    /// time.</summary>
    public DateTimeOffset? Deadline { get; set; }

    /// <summary>The headers to send in addition to the client's.</summary>
    public RpcMetadata? Headers { get; set; }

    /// <summary>The extensions of the native protocol's request header: a
    /// <c>google.protobuf.rpc_messages.RpcRequestHeader</c>, dynamic or generated, that only has extensions.
    /// The protocol's own fields and extensions are rejected. HTTP and gRPC endpoints have no such header and
    /// reject the message.</summary>
    public IMessage? Extensions { get; set; }

    /// <summary>Receives the headers, trailers and extensions of the reply.</summary>
    public RpcResponseInfo? Response { get; set; }

    /// <summary>How requests are compressed; null for the client's setting.</summary>
    public RpcCompression? Compression { get; set; }

    /// <summary>A side channel for this call only; null for the client's. The client's is neither sent nor
    /// replaced. The returned one is in <see cref="Response"/>.</summary>
    internal RpcCallContext? Context { get; init; }

    /// <summary>Whether a gateway makes the call for a caller that sent no headers. Native endpoints then get
    /// the number of gateways; headers of the reply are only kept if there are any.</summary>
    internal bool IsFirstHop { get; init; }

    /// <summary>Receives the progress of a large request that is sent in parts.</summary>
    public IProgress<RpcProgress>? Progress { get; set; }

    /// <summary>Whether to retry an unreachable server until the call's time is over. A call that may have
    /// run is never retried.</summary>
    public bool WaitForReady { get; set; }
}

using ProtoRpc.Protocols.Headers;
using ProtoRpc.Transports;

namespace ProtoRpc;

/// <summary>The options of a call.</summary>
/// <example><code>
/// RpcCallOptions options = new()
/// {
///     Timeout = TimeSpan.FromSeconds(5),
///     Headers = new() { { "x-tenant", "blue" } },
/// };
/// PlaceReply reply = await client.InvokeAsync&lt;PlaceReply>("Place", request, options);
/// </code></example>
public sealed record RpcCallOptions
{
    /// <summary>How long the caller waits; InfiniteTimeSpan for no limit. Null uses the limit's call timeout
    /// for unary methods, and no limit for streaming methods.</summary>
    public TimeSpan? Timeout { get; init; }

    /// <summary>When the caller stops waiting, by this machine's clock; null for none. Use it for calls that
    /// share one deadline. If <see cref="Timeout"/> is also set, the earlier of the two applies. A call whose
    /// deadline has passed fails with DeadlineExceeded and sends nothing. The server receives the remaining
    /// time.</summary>
    public DateTimeOffset? Deadline { get; init; }

    /// <summary>The headers to send in addition to the client's.</summary>
    public RpcMetadata? Headers { get; init; }

    /// <summary>The extensions of the native protocol's request header: a
    /// <c>google.protobuf.rpc_messages.RpcRequestHeader</c>, dynamic or generated, that only has extensions.
    /// The protocol's own fields and extensions are rejected. HTTP and gRPC endpoints have no such header and
    /// reject the message.</summary>
    public IMessage? Extensions { get; init; }

    /// <summary>Receives the headers, trailers and extensions of the reply.</summary>
    public RpcReplyInfo? ReplyInfo { get; init; }

    /// <summary>How requests are compressed; null for the client's setting.</summary>
    public RpcCompression? Compression { get; init; }

    /// <summary>A side channel for this call only; null for the client's. The client's is neither sent nor
    /// replaced. The returned one is in <see cref="ReplyInfo"/>.</summary>
    internal RpcCallContext? Context { get; init; }

    /// <summary>Whether a gateway makes the call for a caller that sent no headers. Native endpoints then get
    /// the number of gateways; headers of the reply are only kept if there are any.</summary>
    internal bool IsFirstHop { get; init; }

    /// <summary>Receives the progress of a large request that is sent in parts.</summary>
    public IProgress<RpcProgress>? Progress { get; init; }

    /// <summary>Which failures to retry, how often, and after which pauses; null for the client's
    /// <see cref="RpcClientOptions.Retry"/>. The retry budget is always the client's.</summary>
    public RpcRetryPolicy? Retry { get; init; }

    /// <summary>Another number of retries for the policy of the call; null for the policy's own.</summary>
    public int? RetryCount { get; init; }

    /// <summary>Whether to retry an unreachable server until the call's time is over. This repeats no call
    /// that may have run.</summary>
    public bool WaitForReady { get; init; }
}

/// <summary>The metadata of a call's replies. Filled while the call runs.</summary>
/// <example><code>
/// RpcReplyInfo info = new();
/// await client.InvokeAsync&lt;PlaceReply>("Place", request, new() { ReplyInfo = info });
/// Console.WriteLine($"{info.Endpoint} sent {info.BytesReceived} bytes after {info.Retries} retries.");
/// Console.WriteLine(info.Trailers.GetText("x-last"));
/// </code></example>
public sealed class RpcReplyInfo
{
    /// <summary>The server of the last attempt: the one that replied, if a call to several servers succeeded.
    /// Null before the call.</summary>
    public RpcEndpoint? Endpoint { get; internal set; }

    /// <summary>The headers, once they arrive.</summary>
    public RpcMetadata Headers { get; internal set; } = new();

    /// <summary>Whether <see cref="Headers"/> also has the headers of the protocol, such as grpc-encoding.
    /// Set it before the call.</summary>
    internal bool HasProtocolHeaders { get; set; }

    /// <summary>Called when the headers of a stream have arrived, before its first reply; null for nothing.
    /// Retries can call it again.</summary>
    internal Action? Began { get; set; }

    /// <summary>The trailers, once the call has ended, even with an error.</summary>
    public RpcMetadata Trailers { get; internal set; } = new();

    /// <summary>The extensions of the native protocol's response header that the client's schema declares, as
    /// a <c>google.protobuf.rpc_messages.RpcResponseHeader</c>. Set once the call has ended, even with an
    /// error. Null on HTTP and gRPC endpoints, which have no such header.</summary>
    public DynamicMessage? Extensions { get; internal set; }

    /// <summary>The returned side channel of a call that has its own; null for none.</summary>
    internal RpcCallContext? Context { get; set; }

    /// <summary>The bytes of the sent requests in all attempts, without the transport's overhead.</summary>
    public long BytesSent { get; internal set; }

    /// <summary>The bytes of the received replies, without the transport's overhead.</summary>
    public long BytesReceived { get; internal set; }

    /// <summary>The number of retries.</summary>
    public int Retries { get; internal set; }

    /// <summary>Whether the latest reply was compressed.</summary>
    public bool IsCompressed { get; internal set; }

    /// <summary>Counts the bytes of a message.</summary>
    internal void Count(bool isSent, long bytes)
    {
        BytesSent += isSent ? bytes : 0;
        BytesReceived += isSent ? 0 : bytes;
    }
}

/// <summary>The progress of a message that is sent in parts.</summary>
/// <param name="SentBytes">The number of bytes that the server has received.</param>
/// <param name="TotalBytes">The total number of bytes.</param>
public readonly record struct RpcProgress(long SentBytes, long TotalBytes);

/// <summary>Starts the clock of a call from its options: the timeout or the deadline, whichever is
/// earlier.</summary>
internal static class CallDeadline
{
    /// <param name="options">The options of the call; null for none.</param>
    /// <param name="usual">The timeout of calls that set none; null for no limit.</param>
    /// <param name="endpoint">The endpoint, for errors.</param>
    /// <param name="caller">Cancelled by the caller.</param>
    /// <exception cref="RpcException">DeadlineExceeded: the deadline has passed already.</exception>
    public static CallClock Start(
        RpcCallOptions? options, TimeSpan? usual, RpcEndpoint endpoint, CancellationToken caller = default)
    {
        TimeSpan forEver = Timeout.InfiniteTimeSpan;
        return options?.Deadline is not { } deadline
            ? CallClock.Start(options?.Timeout ?? usual ?? forEver, caller)
            : deadline > DateTimeOffset.UtcNow
            ? CallClock.Start(options.Timeout ?? forEver, caller, deadline)
            : throw new RpcException(
                RpcStatusCode.DeadlineExceeded,
                $"The call to '{endpoint}' was not sent: its deadline, {deadline:O}, has passed. "
                + "Give the call a later one.", endpoint);
    }
}

namespace ProtoRpc;

/// <summary>A call that a listener served or rejected, for its access log.</summary>
/// <remarks>Texts from a caller are limited to 256 characters. Control characters and line breaks are written
/// as <c>\u001B</c>.</remarks>
/// <example><code>
/// RpcServerOptions options = new()
/// {
///     AccessLog = RpcAccessLog.To(call =>
///         Console.WriteLine($"{call.User} {call.Method} {call.Status} {call.Milliseconds} ms")),
/// };
/// </code></example>
public sealed record RpcAccessLogEntry
{
    /// <summary>When the call began, in UTC.</summary>
    public required DateTimeOffset Time { get; init; }

    /// <summary>The caller's address with port; <c>pid:123</c> on local transports that report the process;
    /// otherwise empty.</summary>
    public required string Peer { get; init; }

    /// <summary>The caller's name; empty for an anonymous caller.</summary>
    public required string User { get; init; }

    /// <summary>The transport of the call.</summary>
    public required RpcTransport Transport { get; init; }

    /// <summary>The listener's endpoint.</summary>
    public required RpcEndpoint Endpoint { get; init; }

    /// <summary><c>package.Service/Method</c>; the requested name or path if the method does not exist;
    /// the interface id of a raw call; otherwise <c>_OTHER</c>.</summary>
    public required string Method { get; init; }

    /// <summary>The status of the call.</summary>
    public required RpcStatusCode Status { get; init; }

    /// <summary>The duration of the call in milliseconds; 0 if it was rejected before it began.</summary>
    public double Milliseconds { get; init; }

    /// <summary>The bytes of the requests, without the transport's overhead.</summary>
    public long BytesIn { get; init; }

    /// <summary>The bytes of the replies, without the transport's overhead.</summary>
    public long BytesOut { get; init; }

    /// <summary>The trace id of the call, as 32 hexadecimal digits; null without a listener for
    /// activities.</summary>
    public string? TraceId { get; init; }

    /// <summary>The id that the caller received instead of the text of an unexpected exception, and that the
    /// server logs with the exception; otherwise null.</summary>
    public string? CorrelationId { get; init; }

    /// <summary>The entry as one line.</summary>
    public override string ToString() =>
        $"{Time:O} {(Peer.Length > 0 ? Peer : "-")} {(User.Length > 0 ? User : "-")} {Transport} {Method} "
        + FormattableString.Invariant($"{Status} {Milliseconds:0.###} ms {BytesIn} in {BytesOut} out");
}

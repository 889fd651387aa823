namespace ProtoRpc;

/// <summary>A call that a listener served or refused, for its access log.</summary>
/// <remarks>Texts that a caller sent have at most 256 characters; control characters and line breaks are
/// written as <c>\u001B</c>.</remarks>
public sealed record RpcAccessLogEntry
{
    /// <summary>When the call began, in UTC.</summary>
    public required DateTimeOffset Time { get; init; }

    /// <summary>The caller's address with port; <c>pid:123</c> on local transports that report the process;
    /// otherwise empty.</summary>
    public required string Peer { get; init; }

    /// <summary>The caller's name; empty for an anonymous caller.</summary>
    public required string User { get; init; }

    /// <summary>How the call came in.</summary>
    public required RpcTransport Transport { get; init; }

    /// <summary>The listener's endpoint.</summary>
    public required RpcEndpoint Endpoint { get; init; }

    /// <summary><c>package.Service/Method</c>; the requested name or path if the method does not exist;
    /// the interface id of a raw call; otherwise <c>_OTHER</c>.</summary>
    public required string Method { get; init; }

    /// <summary>How the call ended.</summary>
    public required RpcStatusCode Status { get; init; }

    /// <summary>How long the call took, in milliseconds; 0 for one that was refused before it
    /// began.</summary>
    public double Milliseconds { get; init; }

    /// <summary>The bytes of the requests, without what the transport puts around them.</summary>
    public long BytesIn { get; init; }

    /// <summary>The bytes of the replies, without what the transport puts around them.</summary>
    public long BytesOut { get; init; }

    /// <summary>The trace id of the call, as 32 hexadecimal digits; null without a listener for
    /// activities.</summary>
    public string? TraceId { get; init; }

    /// <summary>The entry as one line.</summary>
    public override string ToString() =>
        $"{Time:O} {(Peer.Length > 0 ? Peer : "-")} {(User.Length > 0 ? User : "-")} {Transport} {Method} "
        + FormattableString.Invariant($"{Status} {Milliseconds:0.###} ms {BytesIn} in {BytesOut} out");
}

namespace ProtoRpc;

/// <summary>What a gateway forwards besides the messages. Gateways copy the options.</summary>
/// <remarks>Deadlines, the call context, the status, details and cancellation are always forwarded. Headers
/// and trailers are forwarded, except three groups: those of the connection, such as <c>connection</c>,
/// <c>content-*</c>, <c>accept*</c> and <c>grpc-*</c>; those that carry credentials or claim an identity,
/// such as <c>authorization</c>, <c>cookie</c>, <c>set-cookie</c>, <c>x-api-key</c>, <c>forwarded</c> and
/// <c>x-forwarded-*</c>; and those of browsers and caches.</remarks>
public sealed record RpcGatewayOptions
{
    /// <summary>Names of headers and trailers to forward although they carry credentials, claim an identity,
    /// or belong to browsers and caches. Names may contain <c>*</c> and <c>?</c>. Headers of the connection
    /// are never forwarded.</summary>
    public IReadOnlyList<string> ForwardHeaders { get; set; } = [];

    /// <summary>Names of headers and trailers that are not forwarded. Names may contain <c>*</c> and
    /// <c>?</c>. They override <see cref="ForwardHeaders"/>.</summary>
    public IReadOnlyList<string> BlockHeaders { get; set; } = [];

    /// <summary>The maximum number of gateways that a call passes, at least 1. This ends calls that are
    /// forwarded in a circle.</summary>
    public int MaxHops { get; set; } = 8;

    internal RpcGatewayOptions Copy()
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(MaxHops, 1);
        return this with { ForwardHeaders = [.. ForwardHeaders], BlockHeaders = [.. BlockHeaders] };
    }
}

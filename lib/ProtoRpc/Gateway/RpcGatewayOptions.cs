namespace ProtoRpc;

/// <summary>What a gateway passes on beside the messages. Gateways keep a copy.</summary>
/// <remarks>Deadlines, the call context, status, details and cancellation always pass. Headers and trailers
/// pass but for those of the connection (<c>connection</c>, <c>content-*</c>, <c>accept*</c>, <c>grpc-*</c>
/// and the like), those that prove or claim who somebody is (<c>authorization</c>, <c>cookie</c>,
/// <c>set-cookie</c>, <c>x-api-key</c>, <c>forwarded</c>, <c>x-forwarded-*</c> and the like), and those of
/// browsers and caches.</remarks>
public sealed record RpcGatewayOptions
{
    /// <summary>Names of headers and trailers that pass although they prove or claim who somebody is, or
    /// belong to browsers and caches; with <c>*</c> and <c>?</c> for parts of names. Headers of the
    /// connection never pass.</summary>
    public IReadOnlyList<string> ForwardHeaders { get; set; } = [];

    /// <summary>Names of headers and trailers that do not pass, with <c>*</c> and <c>?</c> for parts of
    /// names. They win over <see cref="ForwardHeaders"/>.</summary>
    public IReadOnlyList<string> BlockHeaders { get; set; } = [];

    /// <summary>How many gateways a call may pass, at least 1: what ends a call that goes round in a circle.
    /// </summary>
    public int MaxHops { get; set; } = 8;

    internal RpcGatewayOptions Copy()
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(MaxHops, 1);
        return this with { ForwardHeaders = [.. ForwardHeaders], BlockHeaders = [.. BlockHeaders] };
    }
}

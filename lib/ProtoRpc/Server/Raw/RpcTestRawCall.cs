namespace ProtoRpc;

/// <summary>A call of the raw layer without a server: makes the context that a test hands to a handler or an
/// interceptor.</summary>
/// <example><code>
/// RpcTestRawCall call = new(interfaceId) { Peer = ann };
/// ReadOnlyMemory&lt;byte&gt;? reply = await handler(call.CreateContext(), request);
/// </code></example>
/// <param name="InterfaceId">The interface that is called.</param>
public sealed record RpcTestRawCall(Guid InterfaceId)
{
    /// <summary>The listener's endpoint that the call seems to come in on.</summary>
    public RpcEndpoint Endpoint { get; init; } = RpcEndpoint.Local("test");

    /// <summary>Who calls; an anonymous caller without an address, unless it is set.</summary>
    public PeerIdentity Peer { get; init; } = PeerIdentity.Anonymous("");

    /// <summary>Cancelled when the caller gives up.</summary>
    public CancellationToken CancellationToken { get; init; }

    /// <summary>The call as a handler sees it; a new one each time.</summary>
    public RpcRawContext CreateContext() => new(InterfaceId, Endpoint, Peer, CancellationToken);
}

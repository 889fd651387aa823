namespace ProtoRpc;

/// <summary>A raw call without a server. Creates the context for testing a handler or an
/// interceptor.</summary>
/// <example><code>
/// RpcTestRawCall call = new(interfaceId) { Peer = ann };
/// ReadOnlyMemory&lt;byte&gt;? reply = await handler(call.CreateContext(), request);
/// </code></example>
/// <param name="InterfaceId">The id of the called interface.</param>
public sealed record RpcTestRawCall(Guid InterfaceId)
{
    /// <summary>The listener's endpoint in the context.</summary>
    public RpcEndpoint Endpoint { get; init; } = RpcEndpoint.Local("test");

    /// <summary>The caller; by default, an anonymous caller without an address.</summary>
    public PeerIdentity Peer { get; init; } = PeerIdentity.Anonymous("");

    /// <summary>Cancelled when the caller cancels the call.</summary>
    public CancellationToken CancellationToken { get; init; }

    /// <summary>Creates a new context of the call.</summary>
    public RpcRawContext CreateContext() => new(InterfaceId, Endpoint, Peer, CancellationToken);
}

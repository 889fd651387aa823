using ProtoRpc.Server;
using ProtoRpc.Server.Native;

namespace ProtoRpc;

/// <summary>Who calls an interface of the raw layer. Valid until the handler ends.</summary>
public sealed class RpcRawContext : RpcPeerContext
{
    private readonly ExecCall? _call;
    private readonly CancellationToken _cancellation;

    internal RpcRawContext(Guid interfaceId, ExecCall call)
        : base(call.Endpoint, call.Peer)
    {
        InterfaceId = interfaceId;
        _call = call;
    }

    // Of a test.
    internal RpcRawContext(
        Guid interfaceId, RpcEndpoint endpoint, PeerIdentity peer, CancellationToken cancellation)
        : base(endpoint, peer)
    {
        InterfaceId = interfaceId;
        _cancellation = cancellation;
    }

    /// <summary>The interface that is called.</summary>
    public Guid InterfaceId { get; }

    /// <inheritdoc/>
    public override CancellationToken CancellationToken => _call?.Cancellation ?? _cancellation;

    // Interfaces of the raw layer have no header that would carry a deadline.
    internal override HandlerClock Clock => new(null, Timeout.InfiniteTimeSpan, CancellationToken);

    internal override string What => $"interface {InterfaceId}";
}

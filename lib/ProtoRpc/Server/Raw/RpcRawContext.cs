using ProtoRpc.Server;
using ProtoRpc.Server.Native;

namespace ProtoRpc;

/// <summary>The context of a call of a raw interface. Valid until the handler ends.</summary>
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

    // For tests.
    internal RpcRawContext(
        Guid interfaceId, RpcEndpoint endpoint, PeerIdentity peer, CancellationToken cancellation)
        : base(endpoint, peer)
    {
        InterfaceId = interfaceId;
        _cancellation = cancellation;
    }

    /// <summary>The id of the called interface.</summary>
    public Guid InterfaceId { get; }

    /// <inheritdoc/>
    public override CancellationToken CancellationToken => _call?.Cancellation ?? _cancellation;

    // Raw interfaces have no header that could carry a deadline.
    internal override HandlerClock Clock => new(null, Timeout.InfiniteTimeSpan, CancellationToken);

    internal override string What => $"interface {InterfaceId}";
}

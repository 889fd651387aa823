using ProtoRpc.Server;
using ProtoRpc.Server.Native;

namespace ProtoRpc;

/// <summary>Who calls an interface of the raw layer. Valid until the handler ends.</summary>
public sealed class RpcRawContext : RpcPeerContext
{
    private readonly ExecCall _call;

    internal RpcRawContext(Guid interfaceId, ExecCall call)
        : base(call.Endpoint, call.Peer)
    {
        InterfaceId = interfaceId;
        _call = call;
    }

    /// <summary>The interface that is called.</summary>
    public Guid InterfaceId { get; }

    /// <inheritdoc/>
    public override CancellationToken CancellationToken => _call.Cancellation;

    // Interfaces of the raw layer have no header that would carry a deadline.
    internal override HandlerClock Clock => new(null, Timeout.InfiniteTimeSpan, _call.Cancellation);

    internal override string What => $"interface {InterfaceId}";
}

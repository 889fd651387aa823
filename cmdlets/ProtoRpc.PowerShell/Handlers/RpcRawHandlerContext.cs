namespace ProtoRpc;

/// <summary>What a handler of the raw layer sees in <c>$RpcContext</c>.</summary>
public sealed class RpcRawHandlerContext : RpcHandlerContext
{
    internal RpcRawHandlerContext(RpcRawContext context)
        : base(context)
    {
        InterfaceId = context.InterfaceId;
    }

    /// <summary>The interface that is called.</summary>
    public Guid InterfaceId { get; }
}

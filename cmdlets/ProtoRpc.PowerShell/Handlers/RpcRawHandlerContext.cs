namespace ProtoRpc;

/// <summary>The context of a raw call, <c>$RpcContext</c> in handlers.</summary>
public sealed class RpcRawHandlerContext : RpcHandlerContext
{
    internal RpcRawHandlerContext(RpcRawContext context)
        : base(context)
    {
        InterfaceId = context.InterfaceId;
    }

    /// <summary>The id of the called interface.</summary>
    public Guid InterfaceId { get; }
}

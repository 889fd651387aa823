using Google.Protobuf;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>Runs a script block around every call of a listener. The handler runs in the filter's worker, so
/// that a call never uses two workers.</summary>
internal sealed class ScriptFilter(HandlerPool pool, ScriptSource script)
    : IRpcInterceptor, IRpcRawInterceptor
{
    /// <inheritdoc/>
    public ValueTask<IMessage> InvokeAsync(RpcServerCallContext context, IMessage request, RpcHandler next) =>
        pool.HandleAsync(context, request, script, next);

    /// <inheritdoc/>
    public ValueTask<ReadOnlyMemory<byte>?> InvokeAsync(
        RpcRawContext client, ReadOnlyMemory<byte> request, RpcRawHandler next) =>
        pool.HandleAsync(client, request, script, next);
}

using Google.Protobuf;
using ProtoRpc.Calls;
using ProtoRpc.Calls.Interceptors;

namespace ProtoRpc.PowerShell;

/// <summary>A script block around every call of a listener. The handler then runs in the filter's worker, so that a
/// call never holds two.</summary>
internal sealed class ScriptFilter(HandlerPool pool, ScriptSource script) : IRpcInterceptor
{
    /// <inheritdoc/>
    public ValueTask<IMessage> InvokeAsync(RpcCallContext context, IMessage request, RpcHandler next) =>
        pool.HandleAsync(context, request, script, next);
}

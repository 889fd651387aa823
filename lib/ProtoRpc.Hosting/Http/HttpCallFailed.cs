using ProtoRpc.Server;

namespace ProtoRpc.Hosting.Http;

/// <summary>A call that failed before its reply began, on its way to where it is answered.</summary>
internal sealed class HttpCallFailed(CallFailure failure, RpcServerCallContext? context)
    : Exception(failure.Error.Message, failure.Error)
{
    public CallFailure Failure => failure;

    /// <summary>The call, for the headers that its handler set; null where there was none yet.</summary>
    public RpcServerCallContext? Context => context;
}

using ProtoRpc.Calls;

namespace ProtoRpc.Hosting.Http;

/// <summary>A call that failed before its reply began, on its way to where it is answered.</summary>
internal sealed class HttpCallFailed(CallFailure failure) : Exception(failure.Error.Message, failure.Error)
{
    public CallFailure Failure => failure;
}

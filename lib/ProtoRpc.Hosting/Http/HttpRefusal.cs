namespace ProtoRpc.Hosting.Http;

/// <summary>A request that HTTP's own rules refuse, before there is a call.</summary>
internal sealed class HttpRefusal(int httpStatus, RpcStatusCode code, string message) : Exception(message)
{
    public int HttpStatus => httpStatus;

    public RpcStatusCode Code => code;
}

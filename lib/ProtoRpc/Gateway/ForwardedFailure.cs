namespace ProtoRpc.Gateway;

/// <summary>The failure of a call behind a gateway, for the gateway's caller.</summary>
internal static class ForwardedFailure
{
    /// <summary>The failure for the caller: what the other server said as it said it, and of what went wrong
    /// on the way to it, where.</summary>
    public static RpcException Of(Exception error, RpcClient client, RpcMethodInfo method) => error switch
    {
        RpcException { IsAnswer: true } answer => new RpcException(answer.Code, answer.Message, answer)
        {
            IsForwarded = true,
            Endpoint = client.Endpoint,
            MethodName = method.FullName,
            Remote = answer.Remote,
            CorrelationId = answer.CorrelationId,
            FieldPath = answer.FieldPath,
            MayHaveExecuted = answer.MayHaveExecuted,
            RetryAfter = answer.RetryAfter,
            Details = answer.Details,
            Extensions = answer.Extensions,
        },
        // Headers that the client cannot send, although the gateway's own protocol can.
        RpcException { ErrorId: RpcErrorIds.InvalidHeader } failure => OnTheWay(
            RpcStatusCode.Internal, failure.Message, failure, client, method, failure.MayHaveExecuted),
        RpcException { ErrorId: not RpcErrorIds.ClientClosed } failure => OnTheWay(
            failure.Code, failure.Message, failure, client, method, failure.MayHaveExecuted),
        _ => OnTheWay(
            RpcStatusCode.Unavailable, "the gateway closed its connection. Start the gateway again.", error,
            client, method, mayHaveExecuted: true),
    };

    /// <summary>Whether a failure is about the connection behind the gateway.</summary>
    public static bool IsOfClient(Exception error, RpcClient client) =>
        error is RpcException || (error is ObjectDisposedException && !client.IsOpen);

    private static RpcException OnTheWay(
        RpcStatusCode code, string why, Exception error, RpcClient client, RpcMethodInfo method,
        bool mayHaveExecuted) => new(
        code, $"The gateway got no reply to {method.FullName} from '{client.Endpoint}': {why}", error)
        {
            IsForwarded = true,
            Endpoint = client.Endpoint,
            MethodName = method.FullName,
            MayHaveExecuted = mayHaveExecuted,
            RetryAfter = mayHaveExecuted ? null : (error as RpcException)?.RetryAfter,
        };
}

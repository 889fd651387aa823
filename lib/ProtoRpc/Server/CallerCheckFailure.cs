namespace ProtoRpc.Server;

/// <summary>A check of callers by the application failed with an exception that was not written for the
/// caller, such as that of a call of another server.</summary>
internal sealed class CallerCheckFailure(Exception error) : Exception(error.Message, error)
{
    /// <summary>The exception of the check.</summary>
    public Exception Error { get; } = error;

    /// <summary>Whether the application wrote the exception for the caller, or forwards it.</summary>
    public static bool IsForCaller(Exception error) =>
        error is RpcException { IsByProtoRpc: false } or RpcException { IsForwarded: true };
}

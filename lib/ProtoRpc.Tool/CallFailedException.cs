namespace ProtoRpc.Tool;

/// <summary>A connection or call that failed,
/// told apart from what went wrong before anything was sent.</summary>
internal sealed class CallFailedException(RpcException cause) : Exception(cause.Message, cause)
{
    public RpcStatusCode Code { get; } = cause.Code;

    /// <summary>Runs what talks to the server.</summary>
    public static T Guard<T>(Func<T> talk)
    {
        try
        {
            return talk();
        }
        catch (RpcException e)
        {
            throw new CallFailedException(e);
        }
    }
}

namespace ProtoRpc.Tool;

/// <summary>A connection or call that failed,
/// unlike errors before anything was sent.</summary>
internal sealed class CallFailedException(RpcException cause) : Exception(cause.Message, cause)
{
    public RpcException Cause { get; } = cause;

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

    /// <inheritdoc cref="Guard"/>
    /// <param name="talk">Talks.</param>
    /// <param name="cancellation">Cancelled by the user, who knows.</param>
    public static async Task<T> GuardAsync<T>(Func<Task<T>> talk, CancellationToken cancellation)
    {
        try
        {
            return await talk();
        }
        catch (RpcException e)
        {
            cancellation.ThrowIfCancellationRequested();
            throw new CallFailedException(e);
        }
    }
}

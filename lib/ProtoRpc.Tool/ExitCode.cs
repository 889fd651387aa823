namespace ProtoRpc.Tool;

/// <summary>The tool's exit codes.</summary>
internal static class ExitCode
{
    /// <summary>It worked.</summary>
    public const int Success = 0;

    /// <summary>It failed on this side: a schema, a message, a port in use.</summary>
    public const int Failed = 1;

    /// <summary>The command line cannot be understood.</summary>
    public const int Usage = 2;

    /// <summary>The server answered that it, or the service that was asked for, is not serving.</summary>
    public const int NotServing = 3;

    /// <summary>The user stopped it, as a shell says it of SIGINT.</summary>
    public const int Stopped = 130;

    /// <summary>The reader of the output has gone, as a shell says it of SIGPIPE.</summary>
    public const int OutputClosed = 141;

    private const int StatusBase = 64;

    /// <summary>The exit code of a call that ended with a status: 64 and the status, so 65 to 80.</summary>
    public static int OfCall(RpcStatusCode code) => StatusBase + (int)code;
}

/// <summary>What was written on the command line does not fit together;
/// the message says what would.</summary>
internal sealed class UsageException(string message, Exception? innerException = null)
    : Exception(message, innerException);

/// <summary>A connection or call that failed,
/// told apart from what went wrong before anything was sent.</summary>
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

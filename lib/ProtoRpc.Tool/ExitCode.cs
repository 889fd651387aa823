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

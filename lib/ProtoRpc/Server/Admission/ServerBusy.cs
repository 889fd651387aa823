namespace ProtoRpc.Server.Admission;

/// <summary>The refusals of a server with too many calls, which its callers read.</summary>
internal static class ServerBusy
{
    /// <summary>A call for which there is no room, or whose turn would come too late.</summary>
    /// <param name="running">The calls that run, or the workers.</param>
    /// <param name="waiting">The calls that wait for them.</param>
    /// <param name="what">What is counted in <paramref name="running"/>.</param>
    public static RpcException Full(int running, int waiting, string what) => new(
        RpcStatusCode.ResourceExhausted,
        $"The server is too busy: {waiting:N0} calls already wait for its {running:N0} {what}. Call later.")
    {
        ErrorId = RpcErrorIds.ServerBusy,
        MayHaveExecuted = false,
    };

    /// <summary>A call that waited and did not get its turn.</summary>
    public static RpcException GivenUp() => new(
        RpcStatusCode.ResourceExhausted,
        "The server is too busy: the call waited for others to end, and its turn did not come. Call later.")
    {
        ErrorId = RpcErrorIds.ServerBusy,
        MayHaveExecuted = false,
    };
}

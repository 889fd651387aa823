using ProtoRpc.Protocols;

namespace ProtoRpc.Server.Admission;

/// <summary>The errors of a server with too many calls.</summary>
internal static class ServerBusy
{
    /// <summary>How long the caller of a failed call should wait before it calls again, if this server, or
    /// the one behind a gateway, was too busy to run the call; otherwise null.</summary>
    /// <remarks>Another server that was too busy for a call of the handler says nothing about the handler's
    /// call, which runs.</remarks>
    public static TimeSpan? RetryAfterOf(Exception error) =>
        error is RpcException { ErrorId: RpcErrorIds.ServerBusy } or RpcException { IsForwarded: true }
            ? ((RpcException)error).RetryAfter
            : null;

    /// <summary>The error for a call without room, or whose turn would come too late.</summary>
    /// <param name="running">The number of running calls, or of workers.</param>
    /// <param name="waiting">The number of waiting calls.</param>
    /// <param name="what">What <paramref name="running"/> counts.</param>
    public static RpcException Full(int running, int waiting, string what) => new(
        RpcStatusCode.ResourceExhausted,
        $"The server is too busy: {waiting:N0} calls already wait for its {running:N0} {what}. Call later.")
    {
        ErrorId = RpcErrorIds.ServerBusy,
        RetryAfter = RequestMemory.RetryAfter,
    };

    /// <summary>The error for a waiting call that did not get its turn.</summary>
    public static RpcException GivenUp() => new(
        RpcStatusCode.ResourceExhausted,
        "The server is too busy: the call waited for others to end, and its turn did not come. Call later.")
    {
        ErrorId = RpcErrorIds.ServerBusy,
        RetryAfter = RequestMemory.RetryAfter,
    };
}

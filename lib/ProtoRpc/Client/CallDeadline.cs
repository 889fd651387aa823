using ProtoRpc.Transports;

namespace ProtoRpc.Client;

/// <summary>Starts the clock of a call from its options: the timeout or the deadline, whichever is
/// earlier.</summary>
internal static class CallDeadline
{
    /// <param name="options">The options of the call; null for none.</param>
    /// <param name="usual">The timeout of calls that set none; null for no limit.</param>
    /// <param name="endpoint">The endpoint, for errors.</param>
    /// <param name="caller">Cancelled by the caller.</param>
    /// <exception cref="RpcException">DeadlineExceeded: the deadline has passed already.</exception>
    public static CallClock Of(
        RpcCallOptions? options, TimeSpan? usual, RpcEndpoint endpoint, CancellationToken caller = default)
    {
        TimeSpan forEver = Timeout.InfiniteTimeSpan;
        return options?.Deadline is not { } deadline
            ? CallClock.Start(options?.Timeout ?? usual ?? forEver, caller)
            : deadline > DateTimeOffset.UtcNow
            ? CallClock.Start(options.Timeout ?? forEver, caller, deadline)
            : throw CallErrors.DeadlinePassed(endpoint, deadline);
    }
}

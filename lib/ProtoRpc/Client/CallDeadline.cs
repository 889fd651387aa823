using ProtoRpc.Transports;

namespace ProtoRpc.Client;

/// <summary>Begins the time of a call from its options: its timeout or its deadline, whichever is
/// earlier.</summary>
internal static class CallDeadline
{
    /// <param name="options">The call's; null for none.</param>
    /// <param name="usual">What calls may take that say nothing of it; null for ever.</param>
    /// <param name="endpoint">For errors.</param>
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

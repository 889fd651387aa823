using ProtoRpc.Transports;

namespace ProtoRpc.Client;

/// <summary>How long a call may take from now on: its timeout, or what is left until its deadline.</summary>
internal static class CallDeadline
{
    /// <summary>Timers take no longer time; who waits for so long waits for ever.</summary>
    public static readonly TimeSpan Longest = TimeSpan.FromMilliseconds(int.MaxValue);

    /// <param name="options">The call's; null for none.</param>
    /// <param name="usual">What calls may take that say nothing of it; null for ever.</param>
    /// <param name="endpoint">For errors.</param>
    /// <exception cref="RpcException">DeadlineExceeded: the deadline has passed already.</exception>
    public static TimeSpan Of(RpcCallOptions? options, TimeSpan? usual, RpcEndpoint endpoint)
    {
        if (options?.Deadline is not { } deadline)
        {
            return options?.Timeout ?? usual ?? Timeout.InfiniteTimeSpan;
        }

        TimeSpan left = deadline - DateTimeOffset.UtcNow;
        if (options.Timeout is { } timeout && timeout != Timeout.InfiniteTimeSpan && timeout < left)
        {
            return timeout;
        }

        return left <= TimeSpan.Zero ? throw CallErrors.DeadlinePassed(endpoint, deadline)
            : left > Longest ? Timeout.InfiniteTimeSpan
            : left;
    }
}

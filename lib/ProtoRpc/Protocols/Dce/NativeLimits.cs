namespace ProtoRpc.Protocols.Dce;

/// <summary>Checks the limits that native connections,
/// or those of HTTP and gRPC listeners, depend on.</summary>
internal static class NativeLimits
{
    /// <summary>Checks them before anything is bound or connected.</summary>
    /// <exception cref="RpcException">InvalidArgument, naming the limit.</exception>
    public static void Check(RpcLimits limits)
    {
        ArgumentNullException.ThrowIfNull(limits);
        Range(
            nameof(RpcLimits.MaxFragmentBytes), limits.MaxFragmentBytes,
            PduHeader.MustReceiveFragment, ushort.MaxValue);
        Range(nameof(RpcLimits.MaxMessageBytes), limits.MaxMessageBytes, 1, Array.MaxLength);
        Range(nameof(RpcLimits.MaxFragments), limits.MaxFragments, 1, int.MaxValue);
        Range(nameof(RpcLimits.MaxContexts), limits.MaxContexts, 1, ushort.MaxValue);
        Range(nameof(RpcLimits.MaxConnections), limits.MaxConnections, 1, int.MaxValue);
        Range(nameof(RpcLimits.MaxConnectionsPerAddress), limits.MaxConnectionsPerAddress, 1, int.MaxValue);
        Range(nameof(RpcLimits.MaxBlockingConnections), limits.MaxBlockingConnections, 0, int.MaxValue);
        Range(nameof(RpcLimits.MaxClientConnections), limits.MaxClientConnections, 1, int.MaxValue);
        Range(nameof(RpcLimits.MaxStreamsPerConnection), limits.MaxStreamsPerConnection, 1, int.MaxValue);
        Range(nameof(RpcLimits.MaxConcurrentCalls), limits.MaxConcurrentCalls, 1, int.MaxValue);
        Range(nameof(RpcLimits.MaxQueuedCalls), limits.MaxQueuedCalls, 0, int.MaxValue);
        Range(nameof(RpcLimits.MaxHeaderBytes), limits.MaxHeaderBytes, 1, int.MaxValue);
        Range(nameof(RpcLimits.MaxHeaders), limits.MaxHeaders, 1, int.MaxValue);
        Range(nameof(RpcLimits.MaxSessionBytes), limits.MaxSessionBytes, 1, int.MaxValue);
        Time(nameof(RpcLimits.HandlerTimeout), limits.HandlerTimeout);
        Time(nameof(RpcLimits.MaxQueueTime), limits.MaxQueueTime);
    }

    private static void Time(string name, TimeSpan value)
    {
        if (value <= TimeSpan.Zero && value != Timeout.InfiniteTimeSpan)
        {
            throw Invalid(
                $"{nameof(RpcLimits)}.{name} is {value}; it must be more than zero, or InfiniteTimeSpan for "
                + "none.");
        }
    }

    private static void Range(string name, int value, int from, int to)
    {
        if (value < from || value > to)
        {
            throw Invalid($"{nameof(RpcLimits)}.{name} is {value:N0}; it must be {from:N0} to {to:N0}.");
        }
    }

    private static RpcException Invalid(string what) => new(RpcStatusCode.InvalidArgument, what)
    {
        ErrorId = RpcErrorIds.InvalidLimit,
    };
}

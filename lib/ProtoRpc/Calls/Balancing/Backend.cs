namespace ProtoRpc.Calls.Balancing;

/// <summary>One of the servers: its channel, opened when it is first called,
/// and whether it is worth a try.</summary>
/// <param name="resolved">Where it is.</param>
/// <param name="open">Opens its channel.</param>
internal sealed class Backend(
    ResolvedEndpoint resolved, Func<ResolvedEndpoint, CancellationToken, IRpcChannel> open) : IDisposable
{
    // As gRPC's connection back-off has it, without its jitter: a client has few servers.
    private static readonly TimeSpan FirstPause = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan LongestPause = TimeSpan.FromMinutes(2);

    private readonly Lock _gate = new();
    private IRpcChannel? _channel;
    private TimeSpan _pause = FirstPause;
    private long _rested;
    private bool _disposed;

    /// <summary>Where it is.</summary>
    public ResolvedEndpoint Resolved => resolved;

    /// <summary>Whether it was reached last time, or has not been tried for a while.</summary>
    public bool IsWorthTrying => Environment.TickCount64 >= Volatile.Read(ref _rested);

    /// <summary>Its channel, if it was opened.</summary>
    public IRpcChannel? Opened => Volatile.Read(ref _channel);

    /// <summary>Its channel.</summary>
    /// <exception cref="RpcException">Unavailable when it cannot be reached.</exception>
    public IRpcChannel Open(CancellationToken cancellation)
    {
        lock (_gate)
        {
            ObjectDisposedException.ThrowIf(_disposed, this);
            return _channel ??= open(resolved, cancellation);
        }
    }

    /// <summary>It answered.</summary>
    public void Succeeded()
    {
        if (Volatile.Read(ref _rested) != 0)
        {
            Volatile.Write(ref _rested, 0);
            _pause = FirstPause;
        }
    }

    /// <summary>It could not be reached.</summary>
    public void Failed()
    {
        Volatile.Write(ref _rested, Environment.TickCount64 + (long)_pause.TotalMilliseconds);
        _pause = _pause * 2 < LongestPause ? _pause * 2 : LongestPause;
    }

    public void Dispose()
    {
        lock (_gate)
        {
            _disposed = true;
            _channel?.Dispose();
            _channel = null;
        }
    }
}

using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Client.Balancing;

/// <summary>One of the servers: its channel, opened when it is first called,
/// and whether it is worth a try.</summary>
/// <param name="resolved">Where it is.</param>
/// <param name="create">Makes its channel, which connects with its first call.</param>
internal sealed class Backend(
    ResolvedEndpoint resolved, Func<ResolvedEndpoint, IRpcChannel> create) : IDisposable
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

    /// <summary>Its channel. Nothing is contacted here.</summary>
    /// <param name="context">The side channel that a new one begins with.</param>
    public IRpcChannel Open(RpcCallContext context)
    {
        lock (_gate)
        {
            ObjectDisposedException.ThrowIf(_disposed, this);
            if (_channel is null)
            {
                IRpcChannel channel = create(resolved);
                channel.Context = context;
                Volatile.Write(ref _channel, channel);
            }

            return _channel;
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

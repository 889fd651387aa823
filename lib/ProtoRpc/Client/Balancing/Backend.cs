using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Client.Balancing;

/// <summary>One of several servers: its channel, which is opened for the first call, and whether to try
/// it.</summary>
/// <param name="resolved">The address of the server.</param>
/// <param name="create">Creates the channel, which connects with its first call.</param>
internal sealed class Backend(
    ResolvedEndpoint resolved, Func<ResolvedEndpoint, IRpcChannel> create) : IDisposable
{
    // The values of gRPC's connection backoff, but without jitter: a client has few servers.
    private static readonly TimeSpan FirstPause = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan LongestPause = TimeSpan.FromMinutes(2);

    private readonly Lock _gate = new();
    private IRpcChannel? _channel;
    private TimeSpan _pause = FirstPause;
    private long _rested;
    private bool _disposed;

    /// <summary>The address of the server.</summary>
    public ResolvedEndpoint Resolved => resolved;

    /// <summary>Whether the last attempt succeeded, or was a while ago.</summary>
    public bool IsWorthTrying => Environment.TickCount64 >= Volatile.Read(ref _rested);

    /// <summary>The channel; null before it is opened.</summary>
    public IRpcChannel? Opened => Volatile.Read(ref _channel);

    /// <summary>Returns the channel. This does not connect.</summary>
    /// <param name="context">The initial side channel of a new channel.</param>
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

    /// <summary>Records that the server answered.</summary>
    public void Succeeded()
    {
        if (Volatile.Read(ref _rested) != 0)
        {
            lock (_gate)
            {
                Volatile.Write(ref _rested, 0);
                _pause = FirstPause;
            }
        }
    }

    /// <summary>Records that the server could not be reached. Calls that fail together count once: otherwise
    /// the parallel calls of one second would keep a restarted server without calls for minutes.</summary>
    public void Failed()
    {
        lock (_gate)
        {
            if (IsWorthTrying)
            {
                Volatile.Write(ref _rested, Environment.TickCount64 + (long)_pause.TotalMilliseconds);
                _pause = _pause * 2 < LongestPause ? _pause * 2 : LongestPause;
            }
        }
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

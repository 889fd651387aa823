using System.Net;
using System.Net.Sockets;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Transports;

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

    /// <summary>Records that the server replied.</summary>
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

/// <summary>Resolves the host names of endpoints to addresses. Names are resolved again from time to time,
/// because services that scale add and remove addresses.</summary>
/// <param name="endpoints">The configured endpoints.</param>
/// <param name="lookUp">Finds the addresses of a host name; throws <see cref="SocketException"/>.</param>
internal sealed class AddressResolver(IReadOnlyList<RpcEndpoint> endpoints, Func<string, IPAddress[]> lookUp)
{
    private static readonly TimeSpan Period = TimeSpan.FromSeconds(30);

    private long _due;
    private volatile Dictionary<string, Task<IPAddress[]>> _lookups = [];

    /// <summary>The first of the configured endpoints.</summary>
    public RpcEndpoint First => endpoints[0];

    /// <summary>The first host name that is being looked up; if there is none, that of the first
    /// endpoint.</summary>
    public string Pending
    {
        get
        {
            Dictionary<string, Task<IPAddress[]>> lookups = _lookups;
            return endpoints.Select(endpoint => endpoint.Host).FirstOrDefault(
                host => lookups.GetValueOrDefault(host) is { IsCompleted: false }) ?? First.Host;
        }
    }

    /// <summary>Whether it is time to resolve again.</summary>
    public bool IsDue => Environment.TickCount64 >= Volatile.Read(ref _due);

    /// <summary>Makes the next call resolve again, because an address failed.</summary>
    public void Hurry() => Volatile.Write(ref _due, 0);

    /// <summary>The current endpoints: one for each address of each host, in order. A name that cannot be
    /// resolved is kept, so that calling it reports why. All names are looked up at the same time.</summary>
    public IReadOnlyList<ResolvedEndpoint> Resolve()
    {
        Volatile.Write(ref _due, Environment.TickCount64 + (long)Period.TotalMilliseconds);
        Dictionary<string, Task<IPAddress[]>> lookups = endpoints.Where(HasName)
            .Select(endpoint => endpoint.Host)
            .Distinct(StringComparer.OrdinalIgnoreCase)
            .ToDictionary(
                host => host, host => HostLookup.Start(host, lookUp), StringComparer.OrdinalIgnoreCase);
        _lookups = lookups;
        return
        [
            .. endpoints.SelectMany(endpoint => AddressesOf(endpoint, lookups))
                .DistinctBy(resolved => resolved.Endpoint),
        ];
    }

    private static bool HasName(RpcEndpoint endpoint) =>
        endpoint.Port != 0 && !IPAddress.TryParse(endpoint.Host, out _);

    private static IEnumerable<ResolvedEndpoint> AddressesOf(
        RpcEndpoint endpoint, Dictionary<string, Task<IPAddress[]>> lookups)
    {
        if (!HasName(endpoint))
        {
            return [new ResolvedEndpoint(endpoint, endpoint.Host)];
        }

        try
        {
            IPAddress[] found = lookups[endpoint.Host].GetAwaiter().GetResult();
            if (found.Length > 0)
            {
                return found.Select(address => new ResolvedEndpoint(
                    endpoint.WithHost(address.ToString()), endpoint.Host));
            }
        }
        catch (SocketException)
        {
            // The host's name instead of an address: connecting then reports the error.
        }

        return [new ResolvedEndpoint(endpoint, endpoint.Host)];
    }
}

/// <summary>An endpoint with a resolved address, and the configured host name, which the server's certificate
/// contains.</summary>
internal sealed record ResolvedEndpoint(RpcEndpoint Endpoint, string Host);

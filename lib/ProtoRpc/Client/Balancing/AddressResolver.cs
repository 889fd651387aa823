using System.Net;
using System.Net.Sockets;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Balancing;

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

    /// <summary>The first of the host names that are looked up; that of the first endpoint where none
    /// is.</summary>
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
            // The name is kept, like that of a host without an address that this machine can use.
        }

        return [new ResolvedEndpoint(endpoint, endpoint.Host)];
    }
}

/// <summary>An endpoint with a resolved address, and the configured host name, which the server's certificate
/// contains.</summary>
internal sealed record ResolvedEndpoint(RpcEndpoint Endpoint, string Host);

using System.Net;
using System.Net.Sockets;

namespace ProtoRpc.Client.Balancing;

/// <summary>Resolves the host names of endpoints to addresses. Names are resolved again from time to time,
/// because services that scale add and remove addresses.</summary>
/// <param name="endpoints">The configured endpoints.</param>
/// <param name="lookUp">Finds the addresses of a host name; throws <see cref="SocketException"/>.</param>
internal sealed class AddressResolver(IReadOnlyList<RpcEndpoint> endpoints, Func<string, IPAddress[]> lookUp)
{
    private static readonly TimeSpan Period = TimeSpan.FromSeconds(30);

    private long _due;
    private volatile string _pending = endpoints[0].Host;

    /// <summary>The first of the configured endpoints.</summary>
    public RpcEndpoint First => endpoints[0];

    /// <summary>The host name that is looked up, or was last.</summary>
    public string Pending => _pending;

    /// <summary>Whether it is time to resolve again.</summary>
    public bool IsDue => Environment.TickCount64 >= Volatile.Read(ref _due);

    /// <summary>Makes the next call resolve again, because an address failed.</summary>
    public void Hurry() => Volatile.Write(ref _due, 0);

    /// <summary>The current endpoints: one for each address of each host, in order. A name that cannot be
    /// resolved is kept, so that calling it reports why.</summary>
    public IReadOnlyList<ResolvedEndpoint> Resolve()
    {
        Volatile.Write(ref _due, Environment.TickCount64 + (long)Period.TotalMilliseconds);
        return [.. endpoints.SelectMany(AddressesOf).DistinctBy(resolved => resolved.Endpoint)];
    }

    private IEnumerable<ResolvedEndpoint> AddressesOf(RpcEndpoint endpoint)
    {
        if (endpoint.Port == 0 || IPAddress.TryParse(endpoint.Host, out _))
        {
            return [new ResolvedEndpoint(endpoint, endpoint.Host)];
        }

        try
        {
            _pending = endpoint.Host;
            IPAddress[] found = lookUp(endpoint.Host);
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

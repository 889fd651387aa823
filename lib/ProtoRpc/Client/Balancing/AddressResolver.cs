using System.Net;
using System.Net.Sockets;

namespace ProtoRpc.Client.Balancing;

/// <summary>The addresses behind the host names of endpoints; asked again from time to time, since services
/// that scale come and go.</summary>
/// <param name="endpoints">What the user named.</param>
/// <param name="lookUp">Finds the addresses of a host name; throws <see cref="SocketException"/>.</param>
internal sealed class AddressResolver(IReadOnlyList<RpcEndpoint> endpoints, Func<string, IPAddress[]> lookUp)
{
    private static readonly TimeSpan Period = TimeSpan.FromSeconds(30);

    private long _due;

    /// <summary>Whether it is time to ask again.</summary>
    public bool IsDue => Environment.TickCount64 >= Volatile.Read(ref _due);

    /// <summary>Asks again at the next call, because an address was of no use.</summary>
    public void Hurry() => Volatile.Write(ref _due, 0);

    /// <summary>The endpoints now: one for each address of each host, in order. A name that cannot be looked
    /// up stays as it is, so that calling it says why.</summary>
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
            return lookUp(endpoint.Host)
                .Select(address => new ResolvedEndpoint(
                    endpoint.WithHost(address.ToString()), endpoint.Host));
        }
        catch (SocketException)
        {
            return [new ResolvedEndpoint(endpoint, endpoint.Host)];
        }
    }
}

/// <summary>An endpoint by its address, and the name that the user gave its host,
/// which its certificate has.</summary>
internal sealed record ResolvedEndpoint(RpcEndpoint Endpoint, string Host);

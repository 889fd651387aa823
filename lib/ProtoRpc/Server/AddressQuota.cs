using System.Net;
using System.Net.Sockets;

namespace ProtoRpc.Server;

/// <summary>Counts and limits the open connections of each remote address.</summary>
/// <param name="max">The maximum number of connections per address.</param>
internal sealed class AddressQuota(int max)
{
    private const int PrefixLength = 8;

    private readonly Lock _gate = new();
    private readonly Dictionary<IPAddress, int> _counts = [];

    /// <summary>The key for counting connections; null if the transport has no addresses.</summary>
    /// <remarks>The key of an IPv6 address is its /64 network, because one machine can use all addresses of
    /// it.</remarks>
    public static IPAddress? KeyOf(EndPoint? remote)
    {
        if (remote is not IPEndPoint { Address: { } address })
        {
            return null;
        }

        if (address.IsIPv4MappedToIPv6)
        {
            return address.MapToIPv4();
        }

        if (address.AddressFamily == AddressFamily.InterNetwork)
        {
            return address;
        }

        byte[] network = address.GetAddressBytes();
        network.AsSpan(PrefixLength).Clear();
        return IPAddress.IsLoopback(address) ? address : new IPAddress(network);
    }

    /// <summary>Counts a new connection, unless the address has reached its limit.</summary>
    public bool TryEnter(IPAddress? key)
    {
        if (key is null)
        {
            return true;
        }

        lock (_gate)
        {
            int count = _counts.GetValueOrDefault(key);
            if (count >= max)
            {
                return false;
            }

            _counts[key] = count + 1;
            return true;
        }
    }

    /// <summary>Counts a closed connection.</summary>
    public void Leave(IPAddress? key)
    {
        if (key is null)
        {
            return;
        }

        lock (_gate)
        {
            if (--_counts[key] == 0)
            {
                _counts.Remove(key);
            }
        }
    }
}

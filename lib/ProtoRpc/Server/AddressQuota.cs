using System.Net;
using System.Net.Sockets;

namespace ProtoRpc.Server;

/// <summary>Counts the open connections of each remote address,
/// and lets in no more than it may have.</summary>
/// <param name="max">Connections of one address.</param>
internal sealed class AddressQuota(int max)
{
    private const int PrefixLength = 8;

    private readonly Lock _gate = new();
    private readonly Dictionary<IPAddress, int> _counts = [];

    /// <summary>The address that connections are counted by; null where the transport has none.</summary>
    /// <remarks>One machine can have every address of an IPv6 network of 64 bits,
    /// so the network counts.</remarks>
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

    /// <summary>Counts one more, unless the address has as many as it may have.</summary>
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

    /// <summary>Counts one less.</summary>
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

using System.Globalization;
using System.Net;

namespace ProtoRpc.Transports.Http;

/// <summary>The hosts of the variable NO_PROXY, read as curl and gRPC read them: names with the names below
/// them, addresses, networks, each also with a port.</summary>
internal sealed class NoProxyList
{
    private readonly string[] _entries;

    /// <param name="text">The variable, with commas or white space between its entries; null for an empty
    /// list.</param>
    public NoProxyList(string? text) => _entries = (text ?? "").Split(
        [',', ' ', '\t'], StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries);

    /// <summary>Whether a host is reached without a proxy.</summary>
    public bool Has(string host, int port)
    {
        string name = host.Trim('[', ']').TrimEnd('.');
        IPAddress? address = IPAddress.TryParse(name, out IPAddress? parsed) ? parsed : null;
        return _entries.Any(entry => Matches(entry, name, address, port));
    }

    private static bool Matches(string entry, string host, IPAddress? address, int port)
    {
        if (entry == "*")
        {
            return true;
        }

        // Before a port is looked for: IPv6 addresses have colons.
        if (NetworkOf(entry) is { } network)
        {
            return address is not null && network.Contains(address);
        }

        if (IPAddress.TryParse(entry.Trim('[', ']'), out IPAddress? only))
        {
            return only.Equals(address);
        }

        int colon = entry.LastIndexOf(':');
        if (colon >= 0)
        {
            return int.TryParse(entry.AsSpan(colon + 1), out int given) && given == port
                && Matches(entry[..colon], host, address, port);
        }

        if (address is not null)
        {
            return false;
        }

        string name = entry.StartsWith("*.", StringComparison.Ordinal) ? entry[1..] : entry;
        return name.StartsWith('.')
            ? host.EndsWith(name, StringComparison.OrdinalIgnoreCase)
            : host.Equals(name, StringComparison.OrdinalIgnoreCase)
                || host.EndsWith($".{name}", StringComparison.OrdinalIgnoreCase);
    }

    // Any address of a network names it, as 10.1.2.3/8 does.
    private static IPNetwork? NetworkOf(string entry)
    {
        int slash = entry.IndexOf('/', StringComparison.Ordinal);
        if (slash < 0
            || !IPAddress.TryParse(entry.AsSpan(0, slash), out IPAddress? address)
            || !int.TryParse(
                entry.AsSpan(slash + 1), NumberStyles.None, CultureInfo.InvariantCulture, out int length))
        {
            return null;
        }

        byte[] bytes = address.GetAddressBytes();
        if (length > bytes.Length * 8)
        {
            return null;
        }

        for (int i = 0; i < bytes.Length; i++)
        {
            bytes[i] &= (byte)(0xFF00 >> Math.Clamp(length - (8 * i), 0, 8));
        }

        return new IPNetwork(new IPAddress(bytes), length);
    }
}

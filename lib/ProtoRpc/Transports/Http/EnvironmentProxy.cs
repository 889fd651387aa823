using System.Net;

namespace ProtoRpc.Transports.Http;

/// <summary>The proxy that the environment names: what .NET finds (HTTPS_PROXY, HTTP_PROXY and ALL_PROXY, or
/// the settings of Windows), for gRPC grpc_proxy before that, and NO_PROXY as curl and gRPC read it, with
/// domains and networks.</summary>
/// <param name="isGrpc">Whether it is for gRPC.</param>
/// <param name="system">.NET's proxy settings.</param>
/// <param name="variable">Reads a variable.</param>
internal sealed class EnvironmentProxy(bool isGrpc, IWebProxy system, Func<string, string?> variable)
    : IWebProxy
{
    private readonly WebProxy? _ofGrpc = isGrpc ? ProxyAddress.Read(Find(variable, "grpc_proxy")) : null;

    private readonly NoProxyList _exceptions =
        new((isGrpc ? Find(variable, "no_grpc_proxy") : null) ?? Find(variable, "no_proxy"));

    /// <summary>That of this process.</summary>
    public static EnvironmentProxy Create(bool isGrpc) =>
        new(isGrpc, HttpClient.DefaultProxy, Environment.GetEnvironmentVariable);

    public ICredentials? Credentials
    {
        get => (_ofGrpc ?? system).Credentials;
        set => throw new NotSupportedException();
    }

    public Uri? GetProxy(Uri destination) =>
        IsBypassed(destination) ? null : (_ofGrpc ?? system).GetProxy(destination);

    // A proxy on another machine cannot reach this machine's loopback addresses.
    public bool IsBypassed(Uri host) => HttpTransport.IsLoopback(host.IdnHost)
        || _exceptions.Has(host.IdnHost, host.Port)
        || (_ofGrpc ?? system).IsBypassed(host);

    private static string? Find(Func<string, string?> variable, string name) =>
        variable(name) is { Length: > 0 } lower ? lower
        : variable(name.ToUpperInvariant()) is { Length: > 0 } upper ? upper
        : null;
}

/// <summary>The hosts of the variable NO_PROXY, read as curl and gRPC read them: names with the names below
/// them, addresses, networks, each also with a port.</summary>
/// <param name="text">The variable, with commas or white space between its entries; null for an empty
/// list.</param>
internal sealed class NoProxyList(string? text)
{
    private readonly string[] _entries = (text ?? "").Split(
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

        // Checked before a port is searched, because IPv6 addresses contain colons.
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

    // The address may have host bits, as in 10.1.2.3/8.
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

/// <summary>The address of a proxy as people write it: <c>http://user:password@proxy:3128</c>, or
/// <c>proxy:3128</c>.</summary>
internal static class ProxyAddress
{
    /// <summary>The proxy of an address; null if the address is missing or cannot be read.</summary>
    public static WebProxy? Read(string? text)
    {
        if (string.IsNullOrWhiteSpace(text))
        {
            return null;
        }

        string address = text.Contains("://", StringComparison.Ordinal) ? text : $"http://{text}";
        if (!Uri.TryCreate(address, UriKind.Absolute, out Uri? uri) || uri.Host.Length == 0)
        {
            return null;
        }

        WebProxy proxy = new(new UriBuilder(uri.Scheme, uri.Host, uri.Port).Uri);
        if (uri.UserInfo.Length > 0)
        {
            string[] parts = uri.UserInfo.Split(':', 2);
            proxy.Credentials = new NetworkCredential(
                Uri.UnescapeDataString(parts[0]), parts.Length > 1 ? Uri.UnescapeDataString(parts[1]) : "");
        }

        return proxy;
    }
}

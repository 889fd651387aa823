namespace ProtoRpc;

/// <summary>Checks the hosts of endpoints.</summary>
internal static class HostNames
{
    /// <summary>Whether an endpoint of a transport may have no host,
    /// because it can mean this machine.</summary>
    public static bool MayLack(RpcTransport transport) =>
        transport is RpcTransport.NamedPipe or RpcTransport.Local or RpcTransport.GrpcUnix;

    /// <summary>Checks that a text is the name or address of a host,
    /// or a listener's <c>*</c> or <c>+</c>.</summary>
    /// <param name="text">The endpoint, which errors name.</param>
    /// <param name="host">The host, an IPv6 address without brackets.</param>
    /// <exception cref="RpcException">InvalidArgument.</exception>
    public static void Check(string text, string host)
    {
        if (string.IsNullOrWhiteSpace(host))
        {
            throw RpcEndpoint.Invalid(text, "the host is missing");
        }

        // Brackets are for addresses and gone already; Uri would take them.
        bool isHost = host is "*" or "+"
            || (!host.Any(c => c is '[' or ']' || char.IsWhiteSpace(c) || RpcEndpoint.IsInvisible(c))
                && Uri.CheckHostName(host) is not (UriHostNameType.Unknown or UriHostNameType.Basic));
        if (!isHost)
        {
            throw RpcEndpoint.Invalid(text, $"'{host}' is neither a host name nor an IP address");
        }
    }

    /// <summary>The host that is written in brackets, or the text itself where it has none.</summary>
    /// <exception cref="RpcException">InvalidArgument: only IPv6 addresses have brackets.</exception>
    public static string WithoutBrackets(string text, string host)
    {
        if (!host.StartsWith('[') || !host.EndsWith(']'))
        {
            return host;
        }

        string inside = host[1..^1];
        return Uri.CheckHostName(inside) == UriHostNameType.IPv6 && !inside.StartsWith('[')
            ? inside
            : throw RpcEndpoint.Invalid(text, $"'{host}' is no IPv6 address");
    }
}

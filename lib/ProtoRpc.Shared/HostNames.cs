namespace ProtoRpc;

/// <summary>Checks the hosts of endpoints.</summary>
internal static class HostNames
{
    /// <summary>Whether a name means the machine that reads it.</summary>
    public static bool IsThisMachine(string host) =>
        host.Equals("localhost", StringComparison.OrdinalIgnoreCase)
        || host.Equals(Environment.MachineName, StringComparison.OrdinalIgnoreCase);

    /// <summary>The host of a pipe: nothing where it is this machine, however that is written.</summary>
    public static string OfPipe(string host) => host == "." || IsThisMachine(host) ? "" : host;

    /// <summary>What keeps a text from being the name or address of a host,
    /// or a listener's <c>*</c> or <c>+</c>; null for nothing.</summary>
    /// <param name="host">The host, an IPv6 address without brackets.</param>
    public static string? FindProblem(string host)
    {
        if (string.IsNullOrWhiteSpace(host))
        {
            return "the host is missing";
        }

        // Brackets are for addresses and gone already; Uri would take them.
        bool isHost = host is "*" or "+"
            || (!host.Any(c => c is '[' or ']' || char.IsWhiteSpace(c) || RpcEndpoint.IsInvisible(c))
                && Uri.CheckHostName(host) is not (UriHostNameType.Unknown or UriHostNameType.Basic));
        return isHost ? null : $"'{host}' is neither a host name nor an IP address";
    }

    /// <summary>Takes the host out of brackets, which only IPv6 addresses have.</summary>
    /// <param name="written">The host as it is written.</param>
    /// <param name="host">The host that is written in brackets, or the text itself where it has none.</param>
    /// <returns>What is wrong; null for nothing.</returns>
    public static string? FindBracketProblem(string written, out string host)
    {
        host = written;
        if (!written.StartsWith('[') || !written.EndsWith(']'))
        {
            return null;
        }

        host = written[1..^1];
        return Uri.CheckHostName(host) == UriHostNameType.IPv6 && !host.StartsWith('[')
            ? null
            : $"'{written}' is not an IPv6 address";
    }
}

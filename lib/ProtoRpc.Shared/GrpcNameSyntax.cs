namespace ProtoRpc;

/// <summary>Reads the names that other gRPC clients use for servers (doc/naming.md of gRPC):
/// <c>dns:///host:port</c>, <c>unix:///path</c>, <c>unix-abstract:name</c>, <c>ipv4:a:port,b:port</c> and
/// <c>ipv6:[a]:port</c>.</summary>
/// <remarks>The names do not contain whether the server uses TLS. Their default port is that of TLS, 443, so
/// they mean <c>grpcs://</c>, unless the caller decides otherwise.</remarks>
internal static class GrpcNameSyntax
{
    private const string Dns = "dns";
    private const string Unix = "unix";
    private const string UnixAbstract = "unix-abstract";
    private const string Ipv4 = "ipv4";
    private const string Ipv6 = "ipv6";

    private static readonly string[] Known = [Dns, Unix, UnixAbstract, Ipv4, Ipv6];

    // Resolvers that users of gRPC may have in their configurations, and that ProtoRpc does not support.
    private static readonly string[] ControlPlanes = ["xds", "google-c2p"];
    private static readonly string[] Registries =
        ["consul", "discovery", "etcd", "eureka", "k8s", "kubernetes", "nacos", "srv", "zookeeper"];

    /// <summary>The prefixes of the names.</summary>
    public static IReadOnlyList<string> Prefixes { get; } =
        [$"{Dns}:///", $"{Ipv4}:", $"{Ipv6}:", $"{Unix}:///", $"{UnixAbstract}:"];

    /// <summary>An example of each form, with its meaning.</summary>
    public static IReadOnlyList<(string Name, string Hint)> Examples { get; } =
    [
        ($"{Dns}:///HOST:443", "gRPC over TLS, as other gRPC clients write it"),
        ($"{Ipv4}:ADDRESS:443,ADDRESS:443", "gRPC over TLS to IPv4 addresses"),
        ($"{Ipv6}:[ADDRESS]:443,[ADDRESS]:443", "gRPC over TLS to IPv6 addresses"),
        ($"{Unix}:///PATH", "gRPC over a Unix socket, as other gRPC clients write it"),
        ($"{UnixAbstract}:NAME", "gRPC over an abstract Unix socket, on Linux"),
    ];

    /// <summary>Whether a text begins as a name of gRPC does, right or wrong. <c>etcd:2379</c> is a host with
    /// its port.</summary>
    public static bool IsName(string text) => SchemeOf(text) is { } scheme
        && (Known.Contains(scheme)
            || scheme == "vsock"
            || (IsOther(scheme) && text.AsSpan(scheme.Length).StartsWith(":/", StringComparison.Ordinal)));

    /// <summary>Reads a name.</summary>
    /// <param name="text">The name, for which <see cref="IsName"/> is true.</param>
    /// <param name="tls">Whether the server uses TLS, where the name does not decide it.</param>
    /// <param name="problem">Why the text is not the name of an endpoint; null if it is.</param>
    public static RpcEndpoint? Read(string text, bool tls, out string? problem)
    {
        string scheme = SchemeOf(text)!;
        string rest = text[(scheme.Length + 1)..];
        if (!Known.Contains(scheme))
        {
            problem = FindOtherProblem(scheme);
            return null;
        }

        problem = SplitAuthority(scheme, rest, out string path);
        if (problem is not null)
        {
            return null;
        }

        EndpointKindAttribute kind = EndpointKinds.Get(tls ? RpcTransport.Grpcs : RpcTransport.Grpc);
        return scheme switch
        {
            Unix => ReadSocket(path, out problem),
            UnixAbstract => ReadAbstract(path, out problem),
            Dns => ReadHosts(kind, path.TrimStart('/'), null, out problem),
            _ => ReadHosts(kind, path.TrimStart('/'), scheme, out problem),
        };
    }

    private static string? SchemeOf(string text) => text.IndexOf(':') is > 0 and var colon
        ? text[..colon].ToLowerInvariant()
        : null;

    private static bool IsOther(string scheme) =>
        scheme is "passthrough" || ControlPlanes.Contains(scheme) || Registries.Contains(scheme);

    private static string FindOtherProblem(string scheme)
    {
        string example = EndpointKinds.Get(RpcTransport.Grpcs).ExampleUri("host");
        return scheme switch
        {
            "passthrough" => $"names of {scheme}: are passed to a dialer, which ProtoRpc does not have; "
                + $"write '{example}' or 'dns:///host:443'",
            "vsock" => "sockets of virtual machines are not supported; write the address of the server in a "
                + $"network, such as '{example}'",
            _ when ControlPlanes.Contains(scheme) =>
                $"names of {scheme}: need an xDS control plane, which ProtoRpc does not use; write the "
                + $"address of the server or of its proxy, such as '{example}'",
            _ => $"ProtoRpc finds servers by DNS, not by {scheme}; write the address of the server, such as "
                + $"'{example}'",
        };
    }

    // scheme:[//authority/]path. Only dns can have an authority, the name server. The system selects it here.
    private static string? SplitAuthority(string scheme, string rest, out string path)
    {
        path = rest;
        if (!rest.StartsWith("//", StringComparison.Ordinal))
        {
            return null;
        }

        int end = rest.IndexOf('/', 2);
        string authority = end < 0 ? rest[2..] : rest[2..end];
        path = end < 0 ? "" : rest[end..];
        return authority.Length == 0 ? null
            : scheme == Dns && path.Length > 1
                ? $"'{authority}' would be a name server, which the system selects; write dns:///host:port"
            : $"'{scheme}://' has three slashes or none";
    }

    private static RpcEndpoint? ReadSocket(string path, out string? problem)
    {
        string decoded = Uri.UnescapeDataString(path);
        bool hasDrive = decoded.Length > 2 && char.IsAsciiLetter(decoded[0]) && decoded[1] == ':'
            && decoded[2] is '/' or '\\';
        EndpointKindAttribute kind = EndpointKinds.Get(RpcTransport.GrpcUnix);
        if (hasDrive || (decoded.Length > 1 && decoded[0] == '/'))
        {
            return RpcEndpoint.TryCreate(kind, "", 0, hasDrive ? $"/{decoded}" : decoded, out problem);
        }

        problem = decoded.Trim('/').Length == 0
            ? "the socket's path is missing"
            : "a socket's path must be absolute, because a shell and its process can be in different folders";
        return null;
    }

    private static RpcEndpoint? ReadAbstract(string path, out string? problem)
    {
        string name = Uri.UnescapeDataString(path);
        problem = name.Length == 0 ? "the socket's name is missing" : null;
        return problem is null
            ? RpcEndpoint.TryCreate(
                EndpointKinds.Get(RpcTransport.GrpcUnix), "", 0, $"@{name}", out problem)
            : null;
    }

    /// <param name="kind">The kind of the endpoint.</param>
    /// <param name="text">The hosts with their ports.</param>
    /// <param name="scheme">That of a list of addresses; null for one host name.</param>
    /// <param name="problem">The problem; null for none.</param>
    private static RpcEndpoint? ReadHosts(
        EndpointKindAttribute kind, string text, string? scheme, out string? problem)
    {
        int end = text.AsSpan().IndexOfAny('/', '?', '#');
        problem = text.Length == 0 ? "the host is missing"
            : end >= 0
                ? $"'{text[end..]}' after the port is not understood. A path is written "
                    + $"{kind.ExampleUri("host")}/path"
            : null;
        return problem is not null ? null
            : scheme is null ? ReadHost(kind, text, scheme, out problem)
            : RpcEndpoint.ReadServers(
                text, "addresses",
                (string one, out string? why) => ReadHost(kind, one, scheme, out why), out problem);
    }

    private static RpcEndpoint? ReadHost(
        EndpointKindAttribute kind, string authority, string? scheme, out string? problem)
    {
        // An IPv6 address without brackets has no port.
        int bracket = authority.LastIndexOf(']');
        bool isBare = scheme == Ipv6 && bracket < 0;
        int colon = isBare ? -1 : authority.IndexOf(':', bracket + 1);
        string written = colon < 0 ? authority : authority[..colon];
        int port = EndpointKinds.Get(RpcTransport.Grpcs).DefaultPort;
        string host = written;
        problem = colon >= 0 && !RpcEndpoint.TryReadPort(authority[(colon + 1)..], out port)
                ? $"'{authority[(colon + 1)..]}' is not a port number"
            : (isBare ? null : HostNames.FindBracketProblem(written, out host))
                ?? FindAddressProblem(scheme, host);
        return problem is null ? RpcEndpoint.TryCreate(kind, host, port, "", out problem) : null;
    }

    private static string? FindAddressProblem(string? scheme, string host)
    {
        UriHostNameType type = Uri.CheckHostName(host);
        return scheme switch
        {
            Ipv4 when type != UriHostNameType.IPv4 || host.Count(c => c == '.') != 3 =>
                $"'{host}' is not an IPv4 address",
            Ipv6 when type != UriHostNameType.IPv6 || host.StartsWith('[') =>
                $"'{host}' is not an IPv6 address",

            // Only a port was given, as in dns:50051.
            null when host.Length > 0 && host.All(char.IsAsciiDigit) => $"'{host}' is not a host",
            _ => null,
        };
    }
}

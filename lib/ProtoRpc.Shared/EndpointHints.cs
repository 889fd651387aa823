namespace ProtoRpc;

/// <summary>Finds the endpoints that a text that is not one may have meant.</summary>
internal static class EndpointHints
{
    // The distance between ncacn_tcp and ncacn_ip_tcp.
    private const int MaxDistance = 3;

    private static readonly RpcTransport[] Usual =
        [RpcTransport.Grpc, RpcTransport.Http, RpcTransport.Tcp, RpcTransport.Local];

    /// <summary>A sentence for an error message, with a space before it; empty if nothing is near.</summary>
    public static string Get(string text)
    {
        string[] meant =
        [
            .. Find(text).FirstOrDefault(texts => texts.Any(IsEndpoint))?.Where(IsEndpoint).Distinct() ?? [],
        ];
        return NearestName.Ask(meant);
    }

    /// <summary>Whether a text begins as an endpoint of a kind does, so that another part is
    /// wrong.</summary>
    public static bool HasKnownKind(string text) => text.IndexOf(':') is > 0 and var colon
        && (GrpcNameSyntax.IsName(text)
            || (EndpointKinds.OfScheme(text[..colon]) ?? EndpointKinds.OfSequence(text[..colon])) is { });

    /// <summary>Examples of the usual forms, for a text that is near to none.</summary>
    public static string UsualForms() => EndpointKinds.Enumerate(
        [.. Usual.Select(transport => $"'{EndpointKinds.Get(transport).ExampleBinding("host")}'")], "or");

    // Returns the best suggestions first.
    private static IEnumerable<IEnumerable<string>> Find(string text)
    {
        if (FindPipe(text) is { } pipe)
        {
            return [[pipe]];
        }

        // The text is the path of a socket.
        if (text.StartsWith('/'))
        {
            return [[$"{EndpointKinds.Get(RpcTransport.GrpcUnix).Scheme}://{text}"]];
        }

        int colon = text.IndexOf(':');
        if (colon <= 0 || text.AsSpan(0, colon).Contains("//", StringComparison.Ordinal))
        {
            return FindWithoutColon(text);
        }

        string first = text[..colon];
        string rest = text[(colon + 1)..];
        if (GrpcNameSyntax.IsName(text))
        {
            return FindOfName(first.ToLowerInvariant(), rest.TrimStart('/'))
                .Select(name => (IEnumerable<string>)[name]);
        }

        return rest.StartsWith("//", StringComparison.Ordinal)
            ? FindOfUri(first, rest)
            : FindOfBinding(text, first, rest);
    }

    private static IEnumerable<IEnumerable<string>> FindWithoutColon(string text)
    {
        int slashes = text.IndexOf("//", StringComparison.Ordinal);
        if (slashes > 0)
        {
            yield return [$"{text[..slashes]}:{text[slashes..]}"];
        }

        if (FindAddressOf6(text) is { } address)
        {
            yield return WithPort(text[(text.LastIndexOf(':') + 1)..])
                .Select(kind => $"{kind.Scheme}://{address}");
        }

        // A single word may also be the name of a registered endpoint.
        if (text.Contains('.') || HostNames.IsThisMachine(text) || text.StartsWith('['))
        {
            yield return WithPort("").Select(kind => kind.ExampleUri(text.Trim('[', ']')));
        }
    }

    private static IEnumerable<IEnumerable<string>> FindOfUri(string scheme, string rest)
    {
        if (EndpointKinds.OfScheme(scheme) is { } known)
        {
            // The scheme is right but another part is wrong: a path that the scheme does not have, or the
            // form of a string binding.
            string bare = rest.Trim('/');
            yield return known.Form switch
            {
                AddressForm.SocketPath => [$"{scheme}:///{bare}"],
                AddressForm.HostAndName => [$"{scheme}://./{bare}"],
                AddressForm.NameAlone => [$"{scheme}://{bare.Trim('[', ']')}"],
                _ => FindAddresses(known, bare).Select(address => $"{scheme}://{address}"),
            };
            yield break;
        }

        yield return FindBindings(scheme, rest.Trim('/'));

        yield return Nearest(scheme, kind => kind.Scheme).Select(near => $"{near}:{rest}");
    }

    // A gRPC name with a known scheme, of which another part is wrong.
    private static IEnumerable<string> FindOfName(string scheme, string rest)
    {
        // The host after a name server, or after the path of another resolver.
        string host = rest[(rest.LastIndexOf('/') + 1)..];
        return scheme switch
        {
            "unix" => [$"unix:///{rest}"],
            "dns" or "passthrough" => [$"dns:///{host}"],
            "ipv4" or "ipv6" => FindHosts(rest),
            _ => [],
        };
    }

    private static IEnumerable<string> FindHosts(string rest)
    {
        yield return $"ipv6:{rest}";
        yield return $"ipv4:{rest}";
        if (!rest.Contains(','))
        {
            yield return $"dns:///{rest}";
        }
    }

    private static IEnumerable<string> FindAddresses(EndpointKindAttribute kind, string rest)
    {
        int end = rest.IndexOf('/');
        string authority = end < 0 ? rest : rest[..end];
        string path = end < 0 || kind.Form == AddressForm.HostAndPort ? "" : rest[end..];
        yield return authority + path;
        yield return FindAddressOf6(authority) + path;
        yield return authority.TrimEnd(']').Replace("[", ":", StringComparison.Ordinal) + path;
    }

    private static IEnumerable<IEnumerable<string>> FindOfBinding(string text, string first, string rest)
    {
        yield return [$"{first}://{rest.TrimStart('/')}", $"{first}://{rest}"];
        yield return FindBindings(first, rest);
        yield return Nearest(first, kind => kind.Sequence).Select(sequence => $"{sequence}:{rest}");

        int port = text.LastIndexOf(':') + 1;
        if (port < text.Length && text.AsSpan(port).IndexOfAnyExceptInRange('0', '9') < 0)
        {
            yield return [$"{text[..(port - 1)]}[{text[port..]}]"];
            yield return WithPort(text[port..]).Select(kind => $"{kind.Scheme}://{text}");
        }

        if (EndpointKinds.OfSequence(first) is { HasPort: true } kind && !rest.Contains('['))
        {
            yield return [kind.ExampleBinding(rest)];
        }
    }

    // The address of a string binding with missing brackets.
    private static IEnumerable<string> FindBindings(string sequence, string rest)
    {
        if (EndpointKinds.OfSequence(sequence) is not { } kind)
        {
            return [];
        }

        string bare = rest.Trim('[', ']');
        return kind.Form switch
        {
            AddressForm.NameAlone => [$"{sequence}:[{bare}]"],
            AddressForm.HostAndName => [$@"{sequence}:[\pipe\{bare}]"],
            _ when rest.LastIndexOf('[') > 0 => [$"{sequence}:{rest.TrimEnd(']')}]"],
            _ when bare.LastIndexOf(':') is > 0 and var colon =>
                [$"{sequence}:{bare[..colon]}[{bare[(colon + 1)..]}]"],
            _ => [],
        };
    }

    // An IPv6 address without brackets but with a port, such as ::1:50051.
    private static string? FindAddressOf6(string text)
    {
        int port = text.LastIndexOf(':');
        return port > 0 && text.IndexOf(':') < port
            && Uri.CheckHostName(text[..port]) == UriHostNameType.IPv6 && text[0] != '['
            ? $"[{text[..port]}]:{text[(port + 1)..]}"
            : null;
    }

    // The kinds of endpoints with a port, the likely ones first.
    private static IEnumerable<EndpointKindAttribute> WithPort(string port)
    {
        bool isTls = port is "443" or "8443";
        RpcTransport likely = port switch
        {
            "80" or "8080" or "8081" => RpcTransport.Http,
            _ when isTls => RpcTransport.Https,
            _ => RpcTransport.Grpc,
        };
        return EndpointKinds.Served
            .Where(kind => kind.HasPort && kind.Has(EndpointFeatures.Tls) == isTls)
            .OrderBy(kind => kind.Transport != likely)
            .ThenBy(kind => kind.Protocol == EndpointProtocol.Native);
    }

    // A pipe in the form of Windows, \\HOST\pipe\NAME.
    private static string? FindPipe(string text)
    {
        const string folder = @"\pipe\";
        string path = text.Replace('/', '\\');
        int at = path.IndexOf(folder, StringComparison.OrdinalIgnoreCase);
        string host = at < 0 ? "" : path[..at];
        host = host[(host.LastIndexOf('\\') + 1)..];
        return at < 0 ? null
            : $"{EndpointKinds.Get(RpcTransport.NamedPipe).Scheme}://{(host.Length == 0 ? "." : host)}/"
                + path[(at + folder.Length)..];
    }

    private static IEnumerable<string> Nearest(string name, Func<EndpointKindAttribute, string> nameOf) =>
        NearestName.Find(name, EndpointKinds.All.Select(nameOf).Where(known => known.Length > 0))
            .Where(known => NearestName.Distance(name, known, MaxDistance) <= MaxDistance);

    private static bool IsEndpoint(string text) => RpcEndpoint.TryParse(text, out _);
}

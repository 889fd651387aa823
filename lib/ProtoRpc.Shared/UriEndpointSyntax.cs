namespace ProtoRpc;

/// <summary>Reads endpoints written as URIs.</summary>
internal static class UriEndpointSyntax
{
    /// <returns>Null for a text that is no endpoint, and why.</returns>
    public static RpcEndpoint? Read(string scheme, string rest, out string? problem)
    {
        problem = null;
        if (EndpointKinds.OfScheme(scheme) is not { } kind)
        {
            problem = $"scheme '{scheme}' is not known";
            return null;
        }

        return kind.Form switch
        {
            AddressForm.NameAlone => RpcEndpoint.TryCreate(kind, "", 0, rest.TrimEnd('/'), out problem),
            AddressForm.HostAndName => ReadPipe(kind, rest, out problem),
            AddressForm.SocketPath => ReadPath(kind, rest, out problem),
            _ => ReadHostAndPort(kind, rest, out problem),
        };
    }

    private static RpcEndpoint? ReadPath(EndpointKindAttribute kind, string rest, out string? problem)
    {
        if (rest.StartsWith('/') && rest.Length > 1)
        {
            return RpcEndpoint.TryCreate(kind, "", 0, rest, out problem);
        }

        problem = $"the socket's absolute path is missing ({kind.Scheme}:///path)";
        return null;
    }

    private static RpcEndpoint? ReadPipe(EndpointKindAttribute kind, string rest, out string? problem)
    {
        int slash = rest.IndexOf('/');
        if (slash < 0)
        {
            problem = $"a pipe is written {kind.Scheme}://./NAME or {kind.Scheme}://server/NAME";
            return null;
        }

        string host = rest[..slash];
        return RpcEndpoint.TryCreate(
            kind, HostNames.OfPipe(host), 0, rest[(slash + 1)..].TrimEnd('/'), out problem);
    }

    private static RpcEndpoint? ReadHostAndPort(EndpointKindAttribute kind, string rest, out string? problem)
    {
        int end = rest.AsSpan().IndexOfAny('/', '?', '#');
        string authority = end < 0 ? rest : rest[..end];
        string path = end < 0 ? "/" : rest[end] == '/' ? rest[end..] : "/" + rest[end..];
        int fragment = path.IndexOf('#');
        bool takesPath = kind.Form == AddressForm.HostPortAndPath;

        // The last colon outside an IPv6 address's brackets parts host and port.
        int bracket = authority.LastIndexOf(']');
        int colon = authority.IndexOf(':', bracket + 1);
        string written = colon < 0 ? authority : authority[..colon];
        string digits = colon < 0 ? "" : authority[(colon + 1)..];
        int port = kind.DefaultPort;
        string host = "";
        problem = !takesPath && path != "/" ? $"'{rest[end..]}' after the port is not understood"
            : fragment >= 0 ? $"'{path[fragment..]}' is a fragment, which is never sent; remove it"
            : authority.Contains('@') ? "user names are not part of an endpoint; give a credential instead"
            : colon < 0 && !kind.HasDefaultPort ? FindPortProblem(kind, written)
            : colon >= 0 && !RpcEndpoint.TryReadPort(digits, out port) ? $"'{digits}' is not a port number"
            : HostNames.FindBracketProblem(written, out host);
        return problem is null
            ? RpcEndpoint.TryCreate(kind, host, port, takesPath ? path : "", out problem)
            : null;
    }

    private static string FindPortProblem(EndpointKindAttribute kind, string written) =>
        HostNames.FindBracketProblem(written, out string host)
        ?? $"the port is missing, as in '{kind.ExampleUri(host.Length == 0 ? "host" : host)}'";
}

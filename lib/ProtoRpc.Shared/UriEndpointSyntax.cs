using System.Globalization;

namespace ProtoRpc;

/// <summary>Reads endpoints written as URIs.</summary>
internal static class UriEndpointSyntax
{
    public static RpcEndpoint Parse(string text, string scheme, string rest) => scheme switch
    {
        "tcp" => HostAndPort(text, RpcTransport.Tcp, rest, defaultPort: null),
        "pipe" => Pipe(text, rest),
        "local" => RpcEndpoint.Create(RpcTransport.Local, "", 0, rest.TrimEnd('/'), text),
        "http" => HostAndPort(text, RpcTransport.Http, rest, defaultPort: 80),
        "https" => HostAndPort(text, RpcTransport.Https, rest, defaultPort: 443),
        "grpc" => HostAndPort(text, RpcTransport.Grpc, rest, defaultPort: null),
        "grpcs" => HostAndPort(text, RpcTransport.Grpcs, rest, defaultPort: 443),
        "grpc+unix" => rest.StartsWith('/') && rest.Length > 1
            ? RpcEndpoint.Create(RpcTransport.GrpcUnix, "", 0, rest, text)
            : throw RpcEndpoint.Invalid(text, "the socket's absolute path is missing (grpc+unix:///path)"),
        _ => throw RpcEndpoint.Invalid(text, $"scheme '{scheme}' is not known"),
    };

    private static RpcEndpoint Pipe(string text, string rest)
    {
        int slash = rest.IndexOf('/');
        if (slash < 0)
        {
            throw RpcEndpoint.Invalid(text, "a pipe is written pipe://./NAME or pipe://server/NAME");
        }

        string host = rest[..slash];
        return RpcEndpoint.Create(
            RpcTransport.NamedPipe, host is "." or "localhost"
                ? ""
                : host, 0, rest[(slash + 1)..].TrimEnd('/'), text);
    }

    private static RpcEndpoint HostAndPort(string text, RpcTransport transport, string rest, int? defaultPort)
    {
        int slash = rest.IndexOf('/');
        string authority = slash < 0 ? rest : rest[..slash];
        string path = slash < 0 ? "/" : rest[slash..];
        bool takesPath = transport is RpcTransport.Http or RpcTransport.Https;
        if (!takesPath && path != "/")
        {
            throw RpcEndpoint.Invalid(text, $"'{path}' after the port is not understood");
        }

        if (authority.Contains('@'))
        {
            throw RpcEndpoint.Invalid(text, "user names are not part of an endpoint; use -Credential");
        }

        // The last colon outside an IPv6 address's brackets parts host and port.
        int bracket = authority.LastIndexOf(']');
        int colon = authority.IndexOf(':', bracket + 1);
        string host = colon < 0 ? authority : authority[..colon];
        int port = colon < 0
            ? defaultPort ?? throw RpcEndpoint.Invalid(text, "the port is missing")
            : ReadPort(text, authority[(colon + 1)..]);
        return RpcEndpoint.Create(
            transport, HostNames.WithoutBrackets(text, host), port, takesPath ? path : "", text);
    }

    private static int ReadPort(string text, string digits) =>
        int.TryParse(digits, NumberStyles.None, CultureInfo.InvariantCulture, out int port)
            ? port
            : throw RpcEndpoint.Invalid(text, $"'{digits}' is not a port number");
}

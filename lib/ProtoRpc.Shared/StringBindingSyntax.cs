using System.Globalization;

namespace ProtoRpc;

/// <summary>Reads DCE string bindings:
/// <c>[object-uuid@]protseq:host[endpoint]</c> (C706 section 3.1).</summary>
internal static class StringBindingSyntax
{
    private const string PipePrefix = @"\pipe\";

    public static RpcEndpoint Parse(string text)
    {
        int colon = text.IndexOf(':');
        if (colon <= 0)
        {
            throw RpcEndpoint.Invalid(text, "it has neither '://' nor a protocol sequence followed by ':'");
        }

        string protocol = text[..colon].ToLowerInvariant();
        string rest = text[(colon + 1)..];
        if (protocol.Contains('@'))
        {
            throw RpcEndpoint.Invalid(text, "object UUIDs are not used by this protocol");
        }

        if (protocol is not ("ncacn_ip_tcp" or "ncacn_np" or "ncalrpc"))
        {
            throw RpcEndpoint.Invalid(text, $"protocol sequence '{protocol}' is not known");
        }

        (string host, string endpoint) = SplitBrackets(text, rest);
        return protocol switch
        {
            "ncacn_ip_tcp" => RpcEndpoint.Create(
                RpcTransport.Tcp, host.Length == 0 ? "127.0.0.1" : host, ReadPort(text, endpoint), "", text),
            "ncacn_np" =>
                RpcEndpoint.Create(RpcTransport.NamedPipe, PipeHost(host), 0, PipeName(text, endpoint), text),
            _ => RpcEndpoint.Create(RpcTransport.Local, LocalHost(text, host), 0, endpoint, text),
        };
    }

    private static (string Host, string Endpoint) SplitBrackets(string text, string rest)
    {
        int open = rest.LastIndexOf('[');
        if (open < 0 || !rest.EndsWith(']'))
        {
            throw RpcEndpoint.Invalid(text, "the endpoint in square brackets is missing");
        }

        // Options after a comma ([8080,Security=...]) would be silently ignored: say so instead.
        string endpoint = rest[(open + 1)..^1];
        if (endpoint.Contains(','))
        {
            throw RpcEndpoint.Invalid(text, "options after the endpoint are not supported");
        }

        // No host means this machine; a blank one is a mistake.
        string host = rest[..open];
        string trimmed = host.Trim();
        return (
            HostNames.WithoutBrackets(text, trimmed.Length == 0 ? host : trimmed),
            endpoint.Trim());
    }

    private static int ReadPort(string text, string endpoint) =>
        int.TryParse(endpoint, NumberStyles.None, CultureInfo.InvariantCulture, out int port)
            ? port
            : throw RpcEndpoint.Invalid(text, $"'{endpoint}' is not a port number");

    private static string PipeHost(string host)
    {
        string name = host.TrimStart('\\');
        return name.Length == 0 || name == "." || IsThisMachine(name) ? "" : name;
    }

    private static string PipeName(string text, string endpoint) =>
        endpoint.Replace('/', '\\').StartsWith(PipePrefix, StringComparison.OrdinalIgnoreCase)
            ? endpoint[PipePrefix.Length..]
            : throw RpcEndpoint.Invalid(text, @"a pipe is written [\pipe\NAME]");

    private static string LocalHost(string text, string host) => host.Length == 0 || IsThisMachine(host)
        ? ""
        : throw RpcEndpoint.Invalid(text, "a local endpoint has no host");

    private static bool IsThisMachine(string host) =>
        host.Equals("localhost", StringComparison.OrdinalIgnoreCase)
        || host.Equals(Environment.MachineName, StringComparison.OrdinalIgnoreCase);
}

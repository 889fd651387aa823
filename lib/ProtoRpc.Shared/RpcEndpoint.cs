using System.Diagnostics.CodeAnalysis;
using System.Globalization;

namespace ProtoRpc;

/// <summary>The address of a service: a transport, and a host and port, a pipe, a name or a path.</summary>
/// <remarks>
/// Written as a DCE string binding (<c>ncacn_ip_tcp:host[8080]</c>, C706 section 3.1) or as a URI
/// (<c>tcp://host:8080</c>). Two endpoints are equal if they address the same place.
/// </remarks>
/// <example><code>
/// RpcEndpoint endpoint = RpcEndpoint.Parse("grpcs://shop:443");
/// RpcEndpoint other = endpoint.WithHost("shop2").WithPort(8443);
/// </code></example>
public sealed class RpcEndpoint : IEquatable<RpcEndpoint>, ISpanParsable<RpcEndpoint>
{
    /// <summary>The maximum length of a pipe's or local name, which fits the socket paths of every
    /// platform.</summary>
    public const int MaxNameLength = 64;

    /// <summary>The maximum number of hosts in one address.</summary>
    internal const int MaxHosts = 64;

    // The servers of an address with several hosts; null for one host. The properties return those of the
    // first server.
    private readonly RpcEndpoint[]? _servers;

    private RpcEndpoint(
        EndpointKindAttribute kind, string host, int port, string name, RpcEndpoint[]? servers = null)
    {
        Kind = kind;
        Host = host;
        Port = port;
        Name = name;
        _servers = servers;
    }

    /// <summary>The transport.</summary>
    public RpcTransport Transport => Kind.Transport;

    /// <summary>The host name or address; empty for pipes and local endpoints on this machine. With several
    /// hosts (<c>grpc://a:50051,b:50051</c>), the first.</summary>
    public string Host { get; }

    /// <summary>The port. 0 lets the system assign one; also 0 if the transport has no ports. With several
    /// hosts, that of the first.</summary>
    public int Port { get; }

    /// <summary>The name of a pipe or local endpoint without a prefix, the path of a socket, the name of an
    /// abstract socket after <c>@</c>, the path and query of an HTTP address, or the path prefix of a gRPC
    /// address (<c>/prefix</c>); otherwise empty.</summary>
    public string Name { get; }

    /// <summary>Whether the endpoint can only be reached from this machine.</summary>
    public bool IsLocalOnly => Kind.Has(EndpointFeatures.LocalOnly)
        || (Kind.Form == AddressForm.HostAndName && Host.Length == 0);

    /// <summary>Whether the endpoint uses the native DCE/RPC protocol.</summary>
    public bool IsNative => Kind.Protocol == EndpointProtocol.Native;

    /// <summary>Whether the endpoint uses gRPC.</summary>
    public bool IsGrpc => Kind.Protocol == EndpointProtocol.Grpc;

    /// <summary>Whether the endpoint always uses TLS.</summary>
    public bool IsTls => Kind.Has(EndpointFeatures.Tls);

    /// <summary>The endpoint as a URI.</summary>
    public string Uri => _servers is null
        ? Kind.ToUri(Host, Port, Name)
        : Kind.ToUri([.. _servers.Select(server => (server.Host, server.Port))], Name);

    /// <summary>The servers of the endpoint, each as an endpoint: one for each host.</summary>
    internal IReadOnlyList<RpcEndpoint> Servers => _servers ?? [this];

    /// <summary>Whether the endpoint is a socket without a file, which only Linux has.</summary>
    internal bool IsAbstractSocket => Kind.Form == AddressForm.SocketPath && Name.StartsWith('@');

    /// <summary>The kind of the endpoint, with its features.</summary>
    internal EndpointKindAttribute Kind { get; }

    /// <summary>Whether the endpoint uses HTTP in the formats of ProtoRpc.</summary>
    internal bool IsHttp => Kind.Protocol == EndpointProtocol.Http;

    /// <summary>Whether callers and handlers are in one process, and may share a thread.</summary>
    internal bool IsInProcess => Transport == RpcTransport.InProcess;

    /// <summary>Whether listeners serve the endpoint as <c>http://</c> or <c>https://</c>.</summary>
    internal bool IsOverHttp => Kind.Form == AddressForm.HostPortAndPath;

    /// <summary>The address for HTTP clients: <c>https://</c> instead of <c>rests://</c>.</summary>
    internal string HttpUri => $"{(IsTls ? "https" : "http")}{Uri[Kind.Scheme.Length..]}";

    /// <summary>Creates an endpoint on TCP.</summary>
    /// <param name="host">The host name or address.</param>
    /// <param name="port">0 to 65535. With 0, a listener uses a free port.</param>
    public static RpcEndpoint Tcp(string host, int port) => Create(RpcTransport.Tcp, host, port, "");

    /// <summary>Creates an endpoint on a named pipe of this machine.</summary>
    public static RpcEndpoint NamedPipe(string name) => Create(RpcTransport.NamedPipe, "", 0, name);

    /// <summary>Creates a local endpoint.</summary>
    public static RpcEndpoint Local(string name) => Create(RpcTransport.Local, "", 0, name);

    /// <summary>Creates a local endpoint of Windows' own RPC runtime (LRPC), for Windows only.</summary>
    public static RpcEndpoint Lrpc(string name) => Create(RpcTransport.Lrpc, "", 0, name);

    /// <summary>The file of a Unix socket.</summary>
    internal string SocketPath => SocketPathOf(Name, OperatingSystem.IsWindows());

    /// <summary>Whether the endpoint has any of some features.</summary>
    internal bool Has(EndpointFeatures any) => Kind.Has(any);

    /// <summary>Creates the same endpoint with another port, such as that of a bound listener.</summary>
    /// <remarks>All hosts of a list get it.</remarks>
    public RpcEndpoint WithPort(int port) =>
        Join([.. Servers.Select(server => Create(Transport, server.Host, port, Name))]);

    /// <summary>Creates the same endpoint with a single other host.</summary>
    public RpcEndpoint WithHost(string host) => Create(Transport, host, Port, Name);

    /// <summary>Parses a string binding or URI.</summary>
    /// <exception cref="RpcException">InvalidArgument, with the reason and the supported forms.</exception>
    public static RpcEndpoint Parse(string text)
    {
        ArgumentNullException.ThrowIfNull(text);
        string trimmed = text.Trim();
        return Read(trimmed, out string? problem)
            ?? throw Invalid(trimmed, problem!, EndpointHints.Get(trimmed));
    }

    /// <summary>Parses a string binding or URI.</summary>
    /// <returns>False if the text is not an endpoint.</returns>
    public static bool TryParse(
        [NotNullWhen(true)] string? text, [NotNullWhen(true)] out RpcEndpoint? endpoint)
    {
        endpoint = text is null ? null : Read(text, out _);
        return endpoint is not null;
    }

    static RpcEndpoint IParsable<RpcEndpoint>.Parse(string s, IFormatProvider? provider) => Parse(s);

    static bool IParsable<RpcEndpoint>.TryParse(
        [NotNullWhen(true)] string? s, IFormatProvider? provider,
        [MaybeNullWhen(false)] out RpcEndpoint result) => TryParse(s, out result);

    static RpcEndpoint ISpanParsable<RpcEndpoint>.Parse(ReadOnlySpan<char> s, IFormatProvider? provider) =>
        Parse(s.ToString());

    static bool ISpanParsable<RpcEndpoint>.TryParse(
        ReadOnlySpan<char> s, IFormatProvider? provider, [MaybeNullWhen(false)] out RpcEndpoint result) =>
        TryParse(s.ToString(), out result);

    /// <summary>Parses a string binding or URI, so that scripts can pass texts as endpoints.</summary>
    public static explicit operator RpcEndpoint(string text) => Parse(text);

    /// <inheritdoc/>
    public bool Equals(RpcEndpoint? other) => other is not null
        && Transport == other.Transport
        && Port == other.Port
        && string.Equals(Host, other.Host, StringComparison.OrdinalIgnoreCase)
        && string.Equals(Name, other.Name, HasCase ? StringComparison.Ordinal
            : StringComparison.OrdinalIgnoreCase)
        && (_servers ?? []).SequenceEqual(other._servers ?? []);

    /// <inheritdoc/>
    public override bool Equals(object? obj) => Equals(obj as RpcEndpoint);

    /// <inheritdoc/>
    public override int GetHashCode() => HashCode.Combine(
        Transport, Port, Host.ToUpperInvariant().GetHashCode(StringComparison.Ordinal),
        Name.ToUpperInvariant().GetHashCode(StringComparison.Ordinal));

    /// <summary>The string binding of a native endpoint, or the URI of another one.</summary>
    public override string ToString() => _servers is null ? Kind.ToBinding(Host, Port, Name) : Uri;

    /// <summary>Creates an endpoint from its parts.</summary>
    /// <returns>Null if the parts are not valid, with the reason.</returns>
    internal static RpcEndpoint? TryCreate(
        EndpointKindAttribute kind, string host, int port, string name, out string? problem)
    {
        problem = port is < 0 or > 65535 ? $"port {port} is not in 0..65535"
            : kind.HasName ? FindNameProblem(name)
            : name.Any(IsInvisible) ? "the path has a control character"
            : null;
        if (problem is null && (!kind.MayLackHost || host.Length > 0))
        {
            problem = HostNames.FindProblem(host);
        }

        return problem is null ? new RpcEndpoint(kind, host, port, name) : null;
    }

    /// <summary>Creates one endpoint of the servers of an address with several hosts.</summary>
    /// <param name="servers">At least one, all with the same kind and path.</param>
    internal static RpcEndpoint Join(IReadOnlyList<RpcEndpoint> servers) => servers is [RpcEndpoint only]
        ? only
        : new(servers[0].Kind, servers[0].Host, servers[0].Port, servers[0].Name, [.. servers]);

    /// <summary>Reads the servers of a list, separated by commas, as one endpoint.</summary>
    /// <param name="list">The list.</param>
    /// <param name="what">The noun for the elements of the list, in the plural, for errors.</param>
    /// <param name="read">Reads one server.</param>
    /// <param name="problem">The problem; null for none.</param>
    internal static RpcEndpoint? ReadServers(
        string list, string what, ServerReader read, out string? problem)
    {
        string[] written = list.Split(',', MaxHosts + 1);
        if (written.Length > MaxHosts)
        {
            problem = $"it has more than {MaxHosts} {what}";
            return null;
        }

        List<RpcEndpoint> servers = [];
        foreach (string one in written)
        {
            if (read(one, out problem) is not { } server)
            {
                return null;
            }

            servers.Add(server);
        }

        problem = null;
        return Join(servers);
    }

    /// <summary>Reads one server of a list.</summary>
    /// <param name="text">The host and the port.</param>
    /// <param name="problem">The problem; null for none.</param>
    internal delegate RpcEndpoint? ServerReader(string text, out string? problem);

    internal static bool TryReadPort(string digits, out int port) =>
        int.TryParse(digits, NumberStyles.None, CultureInfo.InvariantCulture, out port);

    // Addresses never contain these characters, and a shown address must not look like another one.
    internal static bool IsInvisible(char c) => char.GetUnicodeCategory(c) is UnicodeCategory.Control
        or UnicodeCategory.Format or UnicodeCategory.LineSeparator or UnicodeCategory.ParagraphSeparator;

    // After the '/' of a URI, a Windows path may begin with a drive, as in file URIs (RFC 8089, E.2).
    internal static string SocketPathOf(string name, bool isWindows) =>
        isWindows && name.Length > 2 && char.IsAsciiLetter(name[1]) && name[2] == ':' ? name[1..] : name;

    // A server may treat paths as case-sensitive.
    private bool HasCase =>
        Kind.Form is AddressForm.SocketPath or AddressForm.HostsAndPrefix || Name.Contains('?');

    private static RpcEndpoint Create(RpcTransport transport, string host, int port, string name) =>
        TryCreate(EndpointKinds.Get(transport), host, port, name, out string? problem)
        ?? throw Invalid($"{transport} {host}:{port} {name}".TrimEnd(), problem!);

    private static RpcEndpoint? Read(string text, out string? problem)
    {
        string trimmed = text.Trim();
        int scheme = trimmed.IndexOf("://", StringComparison.Ordinal);
        return GrpcNameSyntax.IsName(trimmed) ? GrpcNameSyntax.Read(trimmed, tls: true, out problem)
            : scheme > 0
            ? UriEndpointSyntax.Read(
                trimmed[..scheme].ToLowerInvariant(), trimmed[(scheme + 3)..], out problem)
            : StringBindingSyntax.Read(trimmed, out problem);
    }

    private static RpcException Invalid(string text, string problem, string hint = "")
    {
        // Without a suggestion, the usual forms are listed. With one, they would hide it.
        string usual = hint.Length > 0 || EndpointHints.HasKnownKind(text)
            ? ""
            : $" Write it, for example, as {EndpointHints.UsualForms()}.";
        return new RpcException(
            RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidEndpoint,
            $"'{text}' is not an endpoint: {problem}.{hint}{usual} See the documentation of RpcEndpoint for "
            + "all forms.");
    }

    // A name becomes a file name on Unix and a pipe name on Windows, so it must not contain a path.
    private static string? FindNameProblem(string name) =>
        name.Length == 0 ? "the name is missing"
        : name.Length > MaxNameLength ? $"the name is longer than {MaxNameLength} characters"
        : name.StartsWith('.')
            || name.Any(c => !(char.IsAsciiLetterOrDigit(c) || c is '.' or '-' or '_' or '{' or '}' or '$'))
            ? "a name has ASCII letters, digits and . - _ { } $ and does not start with a dot"
            : null;
}

/// <summary>Reads DCE string bindings:
/// <c>[object-uuid@]protseq:host[endpoint,option]</c> (C706 section 3.1).</summary>
internal static class StringBindingSyntax
{
    private const string PipePrefix = @"\pipe\";

    /// <returns>Null for a text that is no endpoint, and why.</returns>
    public static RpcEndpoint? Read(string text, out string? problem)
    {
        int colon = text.IndexOf(':');
        if (colon <= 0)
        {
            problem = "it has neither '://' nor a protocol sequence followed by ':'";
            return null;
        }

        string sequence = text[..colon].ToLowerInvariant();
        if (sequence.Contains('@'))
        {
            problem = "object UUIDs are not used by this protocol";
            return null;
        }

        if (EndpointKinds.OfSequence(sequence) is null)
        {
            problem = EndpointKinds.OfScheme(sequence) is null
                ? $"protocol sequence '{sequence}' is not known"
                : $"'//' is missing after '{sequence}:'";
            return null;
        }

        problem = FindPartsProblem(
            text[(colon + 1)..], out string host, out string endpoint, out string option);
        if (problem is not null)
        {
            return null;
        }

        // Options for other protocol sequences would have no effect, so they are reported.
        if (EndpointKinds.OfSequence(sequence, option) is not { } kind)
        {
            problem = FindOptionProblem(sequence);
            return null;
        }

        return Read(kind, host, endpoint, out problem);
    }

    private static RpcEndpoint? Read(
        EndpointKindAttribute kind, string host, string endpoint, out string? problem)
    {
        int port = 0;
        bool isHere = host.Length == 0 || HostNames.IsThisMachine(host);
        problem = kind.Form switch
        {
            AddressForm.HostAndPort when !RpcEndpoint.TryReadPort(endpoint, out port) =>
                $"'{endpoint}' is not a port number",
            AddressForm.HostAndName when !IsPipe(endpoint) => @"a pipe is written [\pipe\NAME]",
            AddressForm.NameAlone when !isHere => "a local endpoint has no host",
            _ => null,
        };
        return problem is not null ? null : kind.Form switch
        {
            AddressForm.HostAndPort => RpcEndpoint.TryCreate(
                kind, host.Length == 0 ? "127.0.0.1" : host, port, "", out problem),
            AddressForm.HostAndName => RpcEndpoint.TryCreate(
                kind, HostNames.OfPipe(host.TrimStart('\\')), 0, endpoint[PipePrefix.Length..], out problem),
            _ => RpcEndpoint.TryCreate(kind, "", 0, endpoint, out problem),
        };
    }

    private static string FindOptionProblem(string sequence)
    {
        string[] known =
        [
            .. EndpointKinds.All.Where(kind => kind.Sequence == sequence && kind.Option.Length > 0)
                .Select(kind => $"'{kind.Option}'"),
        ];
        return known.Length == 0
            ? $"options after the endpoint are not supported by {sequence}"
            : $"of the options after the endpoint, {sequence} supports only {string.Join(", ", known)}";
    }

    private static string? FindPartsProblem(
        string rest, out string host, out string endpoint, out string option)
    {
        (host, endpoint, option) = ("", "", "");
        int open = rest.LastIndexOf('[');
        if (open < 0 || !rest.EndsWith(']'))
        {
            return "the endpoint in square brackets is missing";
        }

        string inside = rest[(open + 1)..^1];
        int comma = inside.IndexOf(',');
        if (comma >= 0)
        {
            option = inside[(comma + 1)..].Trim();
            inside = inside[..comma];
            if (option.Length == 0)
            {
                return "the option after the comma is missing";
            }
        }

        // No host means this machine; a blank one is a mistake.
        endpoint = inside.Trim();
        string written = rest[..open];
        string trimmed = written.Trim();
        return HostNames.FindBracketProblem(trimmed.Length == 0 ? written : trimmed, out host);
    }

    private static bool IsPipe(string endpoint) =>
        endpoint.Replace('/', '\\').StartsWith(PipePrefix, StringComparison.OrdinalIgnoreCase);
}

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
        if (rest.Length > 1 && rest[0] is '/' or '@')
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
        problem = FindPathProblem(kind, path, end < 0 ? "" : rest[end..]);
        if (problem is not null)
        {
            return null;
        }

        string name = kind.Form switch
        {
            AddressForm.HostPortAndPath => path,
            AddressForm.HostsAndPrefix => path.TrimEnd('/'),
            _ => "",
        };
        return kind.Form == AddressForm.HostsAndPrefix && authority.Contains(',')
            ? RpcEndpoint.ReadServers(
                authority, "hosts",
                (string one, out string? why) => ReadServer(kind, one, name, out why), out problem)
            : ReadServer(kind, authority, name, out problem);
    }

    private static RpcEndpoint? ReadServer(
        EndpointKindAttribute kind, string authority, string name, out string? problem)
    {
        // The last colon outside the brackets of an IPv6 address separates host and port.
        int bracket = authority.LastIndexOf(']');
        int colon = authority.IndexOf(':', bracket + 1);
        string written = colon < 0 ? authority : authority[..colon];
        string digits = colon < 0 ? "" : authority[(colon + 1)..];
        int port = kind.DefaultPort;
        string host = "";
        problem = authority.Contains('@')
                ? "user names are not part of an endpoint; give a credential instead"
            : colon < 0 && !kind.HasDefaultPort ? FindPortProblem(kind, written)
            : colon >= 0 && !RpcEndpoint.TryReadPort(digits, out port) ? $"'{digits}' is not a port number"
            : HostNames.FindBracketProblem(written, out host);
        return problem is null ? RpcEndpoint.TryCreate(kind, host, port, name, out problem) : null;
    }

    private static string? FindPathProblem(EndpointKindAttribute kind, string path, string written)
    {
        int fragment = path.IndexOf('#');
        return kind.Form == AddressForm.HostAndPort && path != "/"
                ? $"'{written}' after the port is not understood"
            : fragment >= 0 ? $"'{path[fragment..]}' is a fragment, which is never sent; remove it"
            : kind.Form == AddressForm.HostsAndPrefix ? FindPrefixProblem(path)
            : null;
    }

    // The path must reach the server as it is written: the HTTP client resolves '..' and replaces '\'.
    private static string? FindPrefixProblem(string path)
    {
        int query = path.IndexOf('?');
        return query >= 0 ? $"'{path[query..]}' is a query, which gRPC calls do not have; remove it"
            : path.Contains('\\') ? "the path has a backslash; write '/'"
            : path.Split('/').FirstOrDefault(IsDots) is { } dots ? $"'{dots}' in the path is not understood"
            : null;
    }

    private static bool IsDots(string segment) =>
        segment.Replace("%2e", ".", StringComparison.OrdinalIgnoreCase) is "." or "..";

    private static string FindPortProblem(EndpointKindAttribute kind, string written) =>
        HostNames.FindBracketProblem(written, out string host)
        ?? $"the port is missing, as in '{kind.ExampleUri(host.Length == 0 ? "host" : host)}'";
}

/// <summary>Checks the hosts of endpoints.</summary>
internal static class HostNames
{
    /// <summary>Whether a name means the machine that reads it.</summary>
    public static bool IsThisMachine(string host) =>
        host.Equals("localhost", StringComparison.OrdinalIgnoreCase)
        || host.Equals(Environment.MachineName, StringComparison.OrdinalIgnoreCase);

    /// <summary>The host of a pipe; empty for this machine, in every notation.</summary>
    public static string OfPipe(string host) => host == "." || IsThisMachine(host) ? "" : host;

    /// <summary>Why a text is not the name or address of a host, nor <c>*</c> or <c>+</c>; null if it
    /// is.</summary>
    /// <param name="host">The host, an IPv6 address without brackets.</param>
    public static string? FindProblem(string host)
    {
        if (string.IsNullOrWhiteSpace(host))
        {
            return "the host is missing";
        }

        // The brackets of an address are already removed, but Uri.CheckHostName would accept others.
        bool isHost = host is "*" or "+"
            || (!host.Any(c => c is '[' or ']' || char.IsWhiteSpace(c) || RpcEndpoint.IsInvisible(c))
                && Uri.CheckHostName(host) is not (UriHostNameType.Unknown or UriHostNameType.Basic));
        return isHost ? null : $"'{host}' is neither a host name nor an IP address";
    }

    /// <summary>Takes the host out of brackets, which only IPv6 addresses have.</summary>
    /// <param name="written">The text.</param>
    /// <param name="host">The host in the brackets, or the text itself if it has none.</param>
    /// <returns>The problem; null for none.</returns>
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

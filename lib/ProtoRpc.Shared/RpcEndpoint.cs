using System.Diagnostics.CodeAnalysis;
using System.Globalization;

namespace ProtoRpc;

/// <summary>The address of a service: a transport with a host and port, a pipe, a local name or a
/// path.</summary>
/// <remarks>
/// Written as a DCE string binding (<c>ncacn_ip_tcp:host[8080]</c>, C706 section 3.1) or as a URI
/// (<c>tcp://host:8080</c>). Two endpoints are equal if they address the same place.
/// </remarks>
public sealed class RpcEndpoint : IEquatable<RpcEndpoint>, ISpanParsable<RpcEndpoint>
{
    /// <summary>The maximum length of a pipe's or local name, which fits the socket paths of every
    /// platform.</summary>
    public const int MaxNameLength = 64;

    private RpcEndpoint(EndpointKindAttribute kind, string host, int port, string name)
    {
        Kind = kind;
        Host = host;
        Port = port;
        Name = name;
    }

    /// <summary>The transport.</summary>
    public RpcTransport Transport => Kind.Transport;

    /// <summary>The host name or address; empty for pipes and local endpoints on this machine.</summary>
    public string Host { get; }

    /// <summary>The port. 0 lets the system assign one; also 0 if the transport has no ports.</summary>
    public int Port { get; }

    /// <summary>The name of a pipe or local endpoint without prefix, a socket's path, or the path and query
    /// of an HTTP address.</summary>
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
    public string Uri => Kind.ToUri(Host, Port, Name);

    /// <summary>The kind of the endpoint, with its features.</summary>
    internal EndpointKindAttribute Kind { get; }

    /// <summary>Whether the endpoint uses HTTP other than gRPC.</summary>
    internal bool IsHttp => Kind.Protocol == EndpointProtocol.Http;

    /// <summary>Creates an endpoint on TCP.</summary>
    /// <param name="host">The host name or address.</param>
    /// <param name="port">0 to 65535. 0 lets a listener use a free port.</param>
    public static RpcEndpoint Tcp(string host, int port) => Create(RpcTransport.Tcp, host, port, "");

    /// <summary>Creates an endpoint on a named pipe of this machine.</summary>
    public static RpcEndpoint NamedPipe(string name) => Create(RpcTransport.NamedPipe, "", 0, name);

    /// <summary>Creates a local endpoint.</summary>
    public static RpcEndpoint Local(string name) => Create(RpcTransport.Local, "", 0, name);

    /// <summary>Creates a local endpoint of Windows' own RPC runtime (LRPC). It works only on
    /// Windows.</summary>
    public static RpcEndpoint Lrpc(string name) => Create(RpcTransport.Lrpc, "", 0, name);

    /// <summary>The file of a Unix socket.</summary>
    internal string SocketPath => SocketPathOf(Name, OperatingSystem.IsWindows());

    /// <summary>Whether the endpoint has any of some features.</summary>
    internal bool Has(EndpointFeatures any) => Kind.Has(any);

    /// <summary>Creates the same endpoint with another port, such as the one that a listener is bound
    /// to.</summary>
    public RpcEndpoint WithPort(int port) => Create(Transport, Host, port, Name);

    /// <summary>Creates the same endpoint on another host.</summary>
    public RpcEndpoint WithHost(string host) => Create(Transport, host, Port, Name);

    /// <summary>Parses a string binding or URI.</summary>
    /// <exception cref="RpcException">InvalidArgument, with the reason and the supported forms.</exception>
    public static RpcEndpoint Parse(string text)
    {
        ArgumentNullException.ThrowIfNull(text);
        string trimmed = text.Trim();
        return Read(trimmed, out string? problem)
            ?? throw Invalid(trimmed, problem!, EndpointHints.Of(trimmed));
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

    /// <summary>Parses a string binding or URI, so that scripts can write a text instead of an
    /// endpoint.</summary>
    public static explicit operator RpcEndpoint(string text) => Parse(text);

    /// <inheritdoc/>
    public bool Equals(RpcEndpoint? other) => other is not null
        && Transport == other.Transport
        && Port == other.Port
        && string.Equals(Host, other.Host, StringComparison.OrdinalIgnoreCase)
        && string.Equals(Name, other.Name, Kind.Form == AddressForm.SocketPath || Name.Contains('?')
            ? StringComparison.Ordinal : StringComparison.OrdinalIgnoreCase);

    /// <inheritdoc/>
    public override bool Equals(object? obj) => Equals(obj as RpcEndpoint);

    /// <inheritdoc/>
    public override int GetHashCode() => HashCode.Combine(
        Transport, Port, Host.ToUpperInvariant().GetHashCode(StringComparison.Ordinal),
        Name.ToUpperInvariant().GetHashCode(StringComparison.Ordinal));

    /// <summary>The string binding of a native endpoint, or the URI of another one.</summary>
    public override string ToString() => Kind.ToBinding(Host, Port, Name);

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

    internal static bool TryReadPort(string digits, out int port) =>
        int.TryParse(digits, NumberStyles.None, CultureInfo.InvariantCulture, out port);

    // Addresses never contain these characters, and a shown address must not look like another one.
    internal static bool IsInvisible(char c) => char.GetUnicodeCategory(c) is UnicodeCategory.Control
        or UnicodeCategory.Format or UnicodeCategory.LineSeparator or UnicodeCategory.ParagraphSeparator;

    // Behind the '/' of the URI, a path of Windows may begin with a drive, as in file URIs (RFC 8089, E.2).
    internal static string SocketPathOf(string name, bool isWindows) =>
        isWindows && name.Length > 2 && char.IsAsciiLetter(name[1]) && name[2] == ':' ? name[1..] : name;

    private static RpcEndpoint Create(RpcTransport transport, string host, int port, string name) =>
        TryCreate(EndpointKinds.Of(transport), host, port, name, out string? problem)
        ?? throw Invalid($"{transport} {host}:{port} {name}".TrimEnd(), problem!);

    private static RpcEndpoint? Read(string text, out string? problem)
    {
        string trimmed = text.Trim();
        int scheme = trimmed.IndexOf("://", StringComparison.Ordinal);
        return scheme > 0
            ? UriEndpointSyntax.Read(
                trimmed[..scheme].ToLowerInvariant(), trimmed[(scheme + 3)..], out problem)
            : StringBindingSyntax.Read(trimmed, out problem);
    }

    private static RpcException Invalid(string text, string problem, string hint = "")
    {
        IEnumerable<string> bindings = EndpointKinds.All.Where(kind => kind.Sequence.Length > 0)
            .Select(kind => $"'{kind.ExampleBinding("host")}'");
        IEnumerable<string> uris = EndpointKinds.All.Select(kind => $"'{kind.ExampleUri("host")}'");
        return new RpcException(
            RpcStatusCode.InvalidArgument,
            $"'{text}' is not an endpoint: {problem}.{hint} Write a string binding such as "
            + $"{string.Join(", ", bindings)}, or a URI such as {string.Join(", ", uris)}.")
        {
            ErrorId = RpcErrorIds.InvalidEndpoint,
        };
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

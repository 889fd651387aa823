using System.Diagnostics.CodeAnalysis;
using System.Globalization;

namespace ProtoRpc;

/// <summary>Where a service is: a transport with a host and port, a pipe, a local name or a path.</summary>
/// <remarks>
/// Read from a DCE string binding (<c>ncacn_ip_tcp:host[8080]</c>, C706 section 3.1) or from a URI
/// (<c>tcp://host:8080</c>). Two endpoints are equal when they reach the same place.
/// </remarks>
public sealed class RpcEndpoint : IEquatable<RpcEndpoint>, ISpanParsable<RpcEndpoint>
{
    /// <summary>The longest pipe or local name, so that the socket path of every platform holds it.</summary>
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

    /// <summary>Host name or address; empty for this machine on pipes and local endpoints.</summary>
    public string Host { get; }

    /// <summary>The port, 0 for one that the system picks, and 0 where the transport has none.</summary>
    public int Port { get; }

    /// <summary>The pipe's or local name without prefix, a socket's path,
    /// or the path of an HTTP address.</summary>
    public string Name { get; }

    /// <summary>Whether the endpoint can only be reached from this machine by its nature.</summary>
    public bool IsLocalOnly => Kind.Has(EndpointFeatures.LocalOnly)
        || (Kind.Form == AddressForm.HostAndName && Host.Length == 0);

    /// <summary>Whether the native DCE/RPC protocol is spoken there.</summary>
    public bool IsNative => Kind.Protocol == EndpointProtocol.Native;

    /// <summary>Whether gRPC is spoken there.</summary>
    public bool IsGrpc => Kind.Protocol == EndpointProtocol.Grpc;

    /// <summary>Whether the connection is secured with TLS.</summary>
    public bool IsTls => Kind.Has(EndpointFeatures.Tls);

    /// <summary>The endpoint as a URI.</summary>
    public string Uri => Kind.ToUri(Host, Port, Name);

    /// <summary>What the endpoint is and can carry.</summary>
    internal EndpointKindAttribute Kind { get; }

    /// <summary>Whether HTTP is spoken there, and not gRPC.</summary>
    internal bool IsHttp => Kind.Protocol == EndpointProtocol.Http;

    /// <summary>An endpoint on TCP.</summary>
    /// <param name="host">Host name or address.</param>
    /// <param name="port">0 to 65535; 0 lets a listener pick a free one.</param>
    public static RpcEndpoint Tcp(string host, int port) => Create(RpcTransport.Tcp, host, port, "");

    /// <summary>A named pipe on this machine.</summary>
    public static RpcEndpoint NamedPipe(string name) => Create(RpcTransport.NamedPipe, "", 0, name);

    /// <summary>A local endpoint.</summary>
    public static RpcEndpoint Local(string name) => Create(RpcTransport.Local, "", 0, name);

    /// <summary>A local endpoint that Windows' own RPC runtime carries (LRPC). It works on Windows
    /// only.</summary>
    public static RpcEndpoint Lrpc(string name) => Create(RpcTransport.Lrpc, "", 0, name);

    /// <summary>Whether the endpoint has any of some features.</summary>
    internal bool Has(EndpointFeatures any) => Kind.Has(any);

    /// <summary>The same endpoint with another port, as a listener has it once it is bound.</summary>
    public RpcEndpoint WithPort(int port) => Create(Transport, Host, port, Name);

    /// <summary>The same endpoint on another host.</summary>
    public RpcEndpoint WithHost(string host) => Create(Transport, host, Port, Name);

    /// <summary>Reads a string binding or URI.</summary>
    /// <exception cref="RpcException">InvalidArgument, with what is wrong
    /// and the forms that are understood.</exception>
    public static RpcEndpoint Parse(string text)
    {
        ArgumentNullException.ThrowIfNull(text);
        return Read(text, out string? problem) ?? throw Invalid(text.Trim(), problem!);
    }

    /// <summary>Reads a string binding or URI.</summary>
    /// <returns>False for a text that is no endpoint.</returns>
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

    /// <summary>Reads a string binding or URI; so scripts can write a text
    /// where an endpoint is wanted.</summary>
    public static explicit operator RpcEndpoint(string text) => Parse(text);

    /// <inheritdoc/>
    public bool Equals(RpcEndpoint? other) => other is not null
        && Transport == other.Transport
        && Port == other.Port
        && string.Equals(Host, other.Host, StringComparison.OrdinalIgnoreCase)
        && string.Equals(Name, other.Name, Kind.Form == AddressForm.SocketPath
            ? StringComparison.Ordinal : StringComparison.OrdinalIgnoreCase);

    /// <inheritdoc/>
    public override bool Equals(object? obj) => Equals(obj as RpcEndpoint);

    /// <inheritdoc/>
    public override int GetHashCode() => HashCode.Combine(
        Transport, Port, Host.ToUpperInvariant().GetHashCode(StringComparison.Ordinal),
        Name.ToUpperInvariant().GetHashCode(StringComparison.Ordinal));

    /// <summary>The string binding of native endpoints, the URI of the others.</summary>
    public override string ToString() => Kind.ToBinding(Host, Port, Name);

    /// <summary>Makes one of its parts.</summary>
    /// <returns>Null for parts that make none, and why.</returns>
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

    // Such characters have no place in an address, and one that is shown must be what it looks like.
    internal static bool IsInvisible(char c) => char.GetUnicodeCategory(c) is UnicodeCategory.Control
        or UnicodeCategory.Format or UnicodeCategory.LineSeparator or UnicodeCategory.ParagraphSeparator;

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

    private static RpcException Invalid(string text, string problem)
    {
        IEnumerable<string> bindings = EndpointKinds.All.Where(kind => kind.Sequence.Length > 0)
            .Select(kind => $"'{kind.ExampleBinding("host")}'");
        IEnumerable<string> uris = EndpointKinds.All.Select(kind => $"'{kind.ExampleUri("host")}'");
        return new RpcException(
            RpcStatusCode.InvalidArgument,
            $"'{text}' is not an endpoint: {problem}. Write a string binding such as "
            + $"{string.Join(", ", bindings)}, or a URI such as {string.Join(", ", uris)}.")
        {
            ErrorId = RpcErrorIds.InvalidEndpoint,
        };
    }

    // A name becomes a file name on Unix and a pipe name on Windows, so nothing in it may lead elsewhere.
    private static string? FindNameProblem(string name) =>
        name.Length == 0 ? "the name is missing"
        : name.Length > MaxNameLength ? $"the name is longer than {MaxNameLength} characters"
        : name.StartsWith('.')
            || name.Any(c => !(char.IsAsciiLetterOrDigit(c) || c is '.' or '-' or '_' or '{' or '}' or '$'))
            ? "a name has ASCII letters, digits and . - _ { } $ and does not start with a dot"
            : null;
}
